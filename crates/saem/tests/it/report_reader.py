"""Opens a report's files with programs of others and compares what they read with the report itself.

usage: report_reader.py FOLDER, which holds report.json and the same report as .pdf, .docx, .html and .md
"""

import json
import pathlib
import re
import sys

import docx
import html5lib
import markdown_it
import pikepdf
import pypdf
import pypdfium2

WORDS = {
    "en": {"sources": "Sources", "not_found": "What was not found", "notes": "About this report", "unsupported": "not supported by a source"},
    "ko": {"sources": "출처", "not_found": "찾지 못한 내용", "notes": "이 보고서에 대하여", "unsupported": "출처로 뒷받침되지 않음"},
}

# Letters that nobody sees, and that turn others around or hide them.
HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffe\uffff]")


def main():
    folder = pathlib.Path(sys.argv[1])
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    language = "ko" if re.search("[가-힣]", report["question"]) else "en"
    pdf(folder / "report.pdf", report, language)
    word(folder / "report.docx", report, language)
    page(folder / "report.html", report, language)
    markdown(folder / "report.md", report, language)
    print("read")


def one_line(text):
    """As a person reads it: blanks are blanks, and what cannot be seen is not there."""
    text = "".join(" " if ord(letter) < 32 or 127 <= ord(letter) < 160 else letter for letter in text)
    return " ".join(HIDDEN.sub("", text).split())


def squeezed(text):
    """Without blanks: where lines break is the reader's affair."""
    return "".join(one_line(text).split())


def numbers(report, claim):
    """The sources that a claim stands on, as a reader counts them."""
    order = [source["id"] for source in report["sources"]]
    good = [citation["source_id"] for citation in claim["citations"] if citation["verdict"] != "unsupported"]
    return list(dict.fromkeys(order.index(source) + 1 for source in good if source in order))


def quotes(report, source):
    claims = [claim for section in report["sections"] for claim in section["claims"]]
    good = [citation["quote"] for claim in claims for citation in claim["citations"]
            if citation["source_id"] == source["id"] and citation["verdict"] != "unsupported"]
    return list(dict.fromkeys(good))


def headings(report, language):
    words = WORDS[language]
    found = [section["heading"] for section in report["sections"]]
    found += [words["not_found"]] if report["not_found"] else []
    found += [words["sources"]] if report["sources"] else []
    found += [words["notes"]] if report["notes"] or report["ended"] != "enough" else []
    return [one_line(heading) for heading in found]


def expected(report, language):
    """All that a reader must find, in this order."""
    words = WORDS[language]
    yield report["question"]
    for section in report["sections"]:
        yield section["heading"]
        for claim in section["claims"]:
            yield claim["text"]
            yield from (f"[{number}]" for number in numbers(report, claim))
            if not claim["is_supported"]:
                yield f"({words['unsupported']})"
    yield from report["not_found"]
    for source in report["sources"]:
        yield source["title"] or source["place"]
        yield web_address(source) or source["place"]
        yield from quotes(report, source)
    yield from report["notes"]


def web_address(source):
    address = source["address"] or ""
    return address if re.fullmatch(r"https?://[^\s<>\"\x00-\x1f]+", address) else None


def addresses(report):
    return [web_address(source) for source in report["sources"] if web_address(source)]


def in_order(text, report, language, form):
    text, at = squeezed(text), 0
    for part in expected(report, language):
        part = squeezed(part)
        place = text.find(part, at)
        assert place >= 0, f"{form}: {part!r} is not in {text[at:at + 2000]!r}"
        at = place + len(part)


def pdf(path, report, language):
    # The checks of qpdf: nothing had to be mended.
    with pikepdf.open(path) as checked:
        wrong = checked.check_pdf_syntax()
        assert wrong == [], wrong
        assert str(checked.Root.Lang) == language
    read = pypdf.PdfReader(path, strict=True)
    in_order("\n".join(sheet.extract_text() for sheet in read.pages), report, language, "pypdf")
    assert read.metadata.title == one_line(report["question"]), read.metadata.title
    assert read.metadata.producer == "Saem" and read.metadata.creation_date is not None
    outline = [entry.title for entry in read.outline]
    assert outline == [one_line(report["question"]), *headings(report, language)], outline
    cited = sum(len(numbers(report, claim)) for section in report["sections"] for claim in section["claims"])
    inner, outer = links(read)
    assert inner == cited, (inner, cited)
    assert outer == set(ascii_address(address) for address in addresses(report)), outer
    # What browsers open them with: every page has letters on it, none beyond the paper.
    opened = pypdfium2.PdfDocument(path)
    assert len(opened) == len(read.pages)
    texts = [sheet.get_textpage().get_text_bounded() for sheet in opened]
    assert all(text.strip() for text in texts)
    in_order("\n".join(texts), report, language, "pdfium")
    for sheet in opened:
        across, up = sheet.get_size()
        for item in sheet.get_objects():
            left, bottom, right, top = item.get_bounds()
            assert 0 <= left <= right <= across and 0 <= bottom <= top <= up, (left, bottom, right, top)


def links(read):
    """How many lead to a page of the file, and where the others lead."""
    inner, outer = 0, set()
    known = {sheet.indirect_reference.idnum for sheet in read.pages}
    for sheet in read.pages:
        for link in sheet.get("/Annots", []):
            link = link.get_object()
            if "/Dest" in link:
                assert link["/Dest"][0].indirect_reference.idnum in known, link
                inner += 1
            else:
                assert link["/A"]["/S"] == "/URI", link
                outer.add(link["/A"]["/URI"])
    return inner, outer


def ascii_address(address):
    return "".join(letter if letter.isascii() else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in address)


def word(path, report, language):
    read = docx.Document(path)
    assert read.core_properties.title == one_line(report["question"])
    assert read.core_properties.language == language
    in_order("\n".join(paragraph.text for paragraph in read.paragraphs), report, language, "docx")
    styled = lambda name: [paragraph.text for paragraph in read.paragraphs if paragraph.style.name == name]
    assert styled("Title") == [one_line(report["question"])]
    assert styled("Heading 1") == headings(report, language), styled("Heading 1")
    assert len(styled("Quote")) == sum(len(quotes(report, source)) for source in report["sources"])
    found = [link for paragraph in read.paragraphs for link in paragraph.hyperlinks]
    assert [link.address for link in found if link.address] == addresses(report)
    inner = [int(link.fragment.removeprefix("source_")) for link in found if not link.address]
    cited = [number for section in report["sections"] for claim in section["claims"] for number in numbers(report, claim)]
    assert inner == cited, (inner, cited)


def page(path, report, language):
    # Raises where a browser would have to guess.
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parse(path.read_text(encoding="utf-8"))
    assert tree.get("lang") == language
    body = tree.find("body")
    in_order("".join(body.itertext()), report, language, "html")
    assert one_line(tree.find("head/title").text) == one_line(report["question"])
    assert [one_line("".join(heading.itertext())) for heading in body.iter("h2")] == headings(report, language)
    tags = {element.tag for element in tree.iter()}
    allowed = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "a", "br", "ol", "ul", "li", "strong", "span", "blockquote"}
    assert tags <= allowed, tags - allowed
    ids = {element.get("id") for element in tree.iter() if element.get("id")}
    for element in tree.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on") and name not in ("src", "style", "srcset", "action"), (element.tag, name)
            if name == "href":
                assert value.removeprefix("#") in ids or value in addresses(report), value
    assert "url(" not in tree.find("head/style").text and "@import" not in tree.find("head/style").text


def markdown(path, report, language):
    # CommonMark, and with what GitHub adds to it: what others wrote is text in both.
    for flavour in ("commonmark", "gfm-like"):
        parser = markdown_it.MarkdownIt(flavour, {"linkify": False})
        tokens = parser.parse(path.read_text(encoding="utf-8"))
        kinds = {token.type for token in walked(tokens)}
        allowed = {"heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "softbreak", "em_open", "em_close",
                   "strong_open", "strong_close", "link_open", "link_close", "bullet_list_open", "bullet_list_close", "ordered_list_open",
                   "ordered_list_close", "list_item_open", "list_item_close", "blockquote_open", "blockquote_close"}
        assert kinds <= allowed, (flavour, kinds - allowed)
        text = "".join(token.content if token.type == "text" else "\n" for token in walked(tokens) if token.type in ("text", "softbreak", "paragraph_close", "heading_close"))
        in_order(text, report, language, f"md {flavour}")
        led = [token.attrs["href"] for token in walked(tokens) if token.type == "link_open"]
        assert led == [parser.normalizeLink(address) for address in addresses(report)], led
        places = [place for place, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"]
        found = ["".join(child.content for child in tokens[place + 1].children) for place in places]
        assert [one_line(heading) for heading in found] == headings(report, language), found


def walked(tokens):
    for token in tokens:
        yield token
        yield from walked(token.children or [])


main()
