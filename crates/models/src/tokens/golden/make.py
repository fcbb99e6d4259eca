"""Writes what the tests of `models::tokens` compare with, by the original: `python make.py GUIDES`.

Needs tiktoken 0.14.0 from PyPI. GUIDES is examples/cloudcost/guides, from which paragraphs are taken.
"""

import json
import random
import sys
from pathlib import Path

import tiktoken

HERE = Path(__file__).parent
CHARACTERS = (
    "abcXYZ '\u2019sSdtT\u017flLreEVvmMD.,!?/-_(){}\\\n\r\t 0123\uac00\ub098\ube44\uc6a9\u1100\u1161\u2460\u2163"
    "\U0001f642\u00e9\u0301\u200d\ufe0f\u4e2d\u6587\u091c\u093c\u093f\u01c5\u01c8\u1f88\u02b0\u00aa\u0671\u0663"
    "\u0e53\u00bd\u00a0\u3000\u2028\u0085\x00\x1f\U0001f468\U0001f1f0\U0001f1f7\u20dd\u0903\ufeff"
)
TEXTS = [
    "", " ", "  ", "\n", "\r\n", "\r\n\r\n", "\t", " \n", "\n ", " \n \n  x", "a  b", "a   1", "a \n\n b", "x \r\n  y\r\n",
    "\u3000\u3000\uc0d8", "\u00a0x\u00a0\u00a0x", "\u2028\u2029\u0085x", "\x0b\x0c\x1c\x1f x", "\x00\x01\x7f", "\ufeffx",
    "don't", "DON'T", "I'VE", "we'Re", "x'\u017f", "x'S's", "they'll'd", "'s", "''s", "1's", "\u0301's", "x\u2019s", "'Sss", "x'r", "x'l",
    "HTTPServer", "iPhone", "XMLHttpRequest", "ABC", "ABCd", "aBC", "AbCdEf", "\uac00ABC", "\uac00ABc", "A\uac00B\ub098c", "\u02b0ABC",
    "\u0301ABC", "\u0301abc", "e\u0301\u0302", "E\u0301A", " \u0301", "!\u0301x", "\u20dd\u20dd", "\u093f\u093c",
    "\u01c5\u01c8\u01cb\u01f2", "a\u01c5b", "\u1f88\u1f89x", "\u00aa\u00ba", "\u00df\u1e9e", "\u0130i\u0131I",
    "1", "12", "123", "1234", "1234567", "3.14159", "1,000,000", "$12.50", "15%", "\u0663\u0664\u0665\u0666", "\u0e53\u0e54", "\u2460\u2461\u2462\u2463",
    "\u2163\u2164", "\u00bd\u00bc", "\u3007\u4e00", "\u096a\u096b\u096c\u096d", "\U0001d7ce\U0001d7cf\U0001d7d0\U0001d7d1", "x2y3", "2x",
    "!!!", " !!!", "!!!\n\n", "!/\r\n/x", "//", " //", "a/b/c", "http://saem.dev/a?b=c#d", "/usr/bin", "...\n...", "\u2014\u2026\u00b7", "()[]{}<>",
    "<|endoftext|>", "<|endofprompt|>", "<|im_start|>user",
    "\U0001f642", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1f0\U0001f1f7", "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3", "\u2764\ufe0f x",
    "\uc548\ub155\ud558\uc138\uc694", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uae00\uacfc English\ub97c \uc11e\uc5b4 \uc4f0\uae30 2026\ub144", "\u314b\u314b\u314b\u314b \u3160\u3160", "\u3042\u308a\u304c\u3068\u3046\u3054\u3056\u3044\u307e\u3059",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0 \u1c92", "Ti\u1ebfng Vi\u1ec7t", "\U00010400\U00010428", "\U0001e900\U0001e922", "\ue000\uf8ff", "\u0378\uffff", "\U0010ffff",
    "fn main() {\n    println!(\"\uc0d8 {}\", 1 << 20);\n}\n", "def f(x):\n\treturn x**2  # \uc81c\uacf1\n\n\n", "{\"a\": [1, 2.5e-3, null]}\r\n",
    "SELECT *\r\nFROM t -- x\r\nWHERE a_b = 'c''d';", "| a | b |\n|---|---|\n| 1 | 2 |\n", "# H\n\n- [ ] x\n- [x] y\n", "<p class=\"x\">&nbsp;</p>",
    "a" * 1000, "Aa" * 300, " " * 700, "\n" * 500, " \n" * 300, "!" * 500, "\uac00" * 300, "\u0301" * 200, "=" * 333, "ab" * 500, "\uac00A" * 200,
    "x" + " " * 300 + "x", "\n" + " " * 300 + "x", " " * 300 + "\n" + " " * 300 + "1",
]


def random_texts(chance):
    for _ in range(200):
        yield "".join(chance.choice(CHARACTERS) for _ in range(chance.randint(1, 40)))
    for _ in range(100):
        numbers = (chance.randrange(chance.choice([0x250, 0x3000, 0xD800, 0x20000])) for _ in range(chance.randint(1, 25)))
        yield "".join(chr(number) for number in numbers if not 0xD800 <= number < 0xE000)


def paragraphs(guides):
    for path in sorted(guides.glob("*/*.md")):
        yield from path.read_text(encoding="utf-8").split("\n\n")[2::12]


def main():
    o200k = tiktoken.get_encoding("o200k_base")
    texts = TEXTS + list(paragraphs(Path(sys.argv[1]))) + list(random_texts(random.Random(200)))
    with open(HERE / "texts.jsonl", "w", encoding="ascii") as file:
        for text in texts:
            tokens = o200k.encode_ordinary(text)
            lengths = [len(token) for token in o200k.decode_tokens_bytes(tokens)]
            file.write(json.dumps([text, lengths], separators=(",", ":")) + "\n")
    # Every character in places where its kind matters, 4,096 of them to a line.
    with open(HERE / "characters.txt", "w", encoding="ascii") as file:
        for start in range(0, 0x110000, 4096):
            block = [chr(number) for number in range(start, start + 4096) if not 0xD800 <= number < 0xE000]
            around = [f"aB{one}Ab {one}1{one}'S\n{one}A {one}" for one in block]
            file.write(f"{sum(map(len, o200k.encode_ordinary_batch(around)))}\n")


main()
