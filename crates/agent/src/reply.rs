//! What Saem says by itself: fallbacks, small talk and notes, in Korean and in English.

#[cfg(test)]
mod tests;

use crate::language::Language;
use crate::menu::MenuLink;
use crate::turn::Fallback;

/// Longest small talk, in words: whoever says more wants something.
const SMALL_TALK_WORDS_MAX: usize = 5;

/// Something that is said for politeness, or to find out who is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmallTalk {
    Greeting,
    Thanks,
    Farewell,
    Agreement,
    AboutSaem,
}

/// The small talk that a question is, if it is nothing else.
#[must_use]
pub fn small_talk(question: &str) -> Option<SmallTalk> {
    let letters = question.chars().flat_map(char::to_lowercase);
    let plain: String =
        letters.map(|letter| if letter.is_alphanumeric() { letter } else { ' ' }).collect();
    let words: Vec<&str> =
        plain.split_whitespace().filter(|word| !FILLERS.contains(word)).collect();
    if words.is_empty() || words.len() > SMALL_TALK_WORDS_MAX {
        return None;
    }
    let said = words.join(" ");
    let says = |phrases: &[&str]| phrases.contains(&said.as_str());
    PHRASES.iter().find(|(_, phrases)| says(phrases)).map(|(kind, _)| *kind)
}

/// Words that may stand around small talk and change nothing.
const FILLERS: &[&str] =
    &["saem", "샘", "샘아", "there", "정말", "진짜", "너무", "so", "very", "much", "again", "all"];

const PHRASES: &[(SmallTalk, &[&str])] = &[
    (
        SmallTalk::Greeting,
        &[
            "안녕",
            "안녕하세요",
            "안녕하십니까",
            "하이",
            "헬로",
            "반가워",
            "반가워요",
            "반갑습니다",
            "안녕하세요 반갑습니다",
            "좋은 아침",
            "좋은 아침이에요",
            "hi",
            "hello",
            "hey",
            "hiya",
            "good morning",
            "good afternoon",
            "good evening",
            "how are you",
            "hi how are you",
            "hello how are you",
        ],
    ),
    (
        SmallTalk::Thanks,
        &[
            "고마워",
            "고마워요",
            "고맙습니다",
            "감사",
            "감사해요",
            "감사합니다",
            "땡큐",
            "thanks",
            "thank you",
            "thx",
            "ty",
            "thanks a lot",
            "great thanks",
            "ok thanks",
            "okay thanks",
            "네 감사합니다",
            "네 고마워요",
        ],
    ),
    (
        SmallTalk::Farewell,
        &[
            "잘 가",
            "잘가",
            "안녕히 계세요",
            "안녕히 가세요",
            "수고하세요",
            "수고",
            "다음에 봐요",
            "bye",
            "goodbye",
            "bye bye",
            "see you",
            "see you later",
            "good night",
        ],
    ),
    (
        SmallTalk::Agreement,
        &[
            "네",
            "넵",
            "예",
            "응",
            "그래",
            "알겠어",
            "알겠어요",
            "알겠습니다",
            "네 알겠습니다",
            "좋아",
            "좋아요",
            "ok",
            "okay",
            "yes",
            "got it",
            "i see",
            "great",
            "cool",
            "nice",
            "perfect",
        ],
    ),
    (
        SmallTalk::AboutSaem,
        &[
            "넌 누구야",
            "너 누구야",
            "너는 누구야",
            "누구세요",
            "당신은 누구인가요",
            "뭐 할 수 있어",
            "뭘 할 수 있어",
            "무엇을 할 수 있나요",
            "무엇을 도와줄 수 있나요",
            "도움말",
            "도와줘",
            "who are you",
            "what are you",
            "what can you do",
            "what do you do",
            "help",
            "help me",
        ],
    ),
];

/// The answer to small talk.
#[must_use]
pub fn to_small_talk(kind: SmallTalk, language: Language) -> &'static str {
    let (korean, english) = match kind {
        SmallTalk::Greeting => (
            "안녕하세요. 문서에 대해 궁금한 것을 물어보세요.",
            "Hello. Ask me anything about your documents.",
        ),
        SmallTalk::Thanks => (
            "천만에요. 더 궁금한 것이 있으면 물어보세요.",
            "You're welcome. Ask on if there is more.",
        ),
        SmallTalk::Farewell => {
            ("안녕히 가세요. 언제든 다시 물어보세요.", "Goodbye. Come back any time.")
        }
        SmallTalk::Agreement => {
            ("네. 이어서 물어보세요.", "All right. Go on with your next question.")
        }
        SmallTalk::AboutSaem => (
            "저는 샘입니다. 팀의 문서를 찾아 읽고, 근거를 번호로 밝히며 한국어와 영어로 답합니다. 나눈 대화도 기억합니다.",
            "I am Saem. I look things up in your team's documents and answer in Korean and English, with the sources \
             as numbers. I remember what we talked about, too.",
        ),
    };
    in_language(language, korean, english)
}

/// What is said instead of an answer, with the places of the product that may help.
#[must_use]
pub fn fallback(fallback: Fallback, language: Language, menu: &[MenuLink]) -> String {
    let (korean, english) = match fallback {
        Fallback::NotFound => {
            ("관련 문서를 찾지 못했습니다.", "I could not find a document about this.")
        }
        Fallback::InPreparation => {
            ("해당 내용은 준비 중입니다.", "There is nothing about this yet; it is in preparation.")
        }
    };
    let mut text = in_language(language, korean, english).to_owned();
    text.push_str(&pages(language, menu));
    text
}

/// Places of the product that may help, behind an answer; empty without any.
#[must_use]
pub fn pages(language: Language, menu: &[MenuLink]) -> String {
    if menu.is_empty() {
        return String::new();
    }
    let lead = in_language(language, "다음 메뉴가 도움이 될 수 있습니다.", "These pages may help:");
    let mut text = format!("\n\n{lead}\n");
    for MenuLink { title, link } in menu {
        text.push_str(&format!("\n- [{title}]({link})"));
    }
    text
}

/// Signs that a place in the product is asked for.
const WHERE: &[&str] = &[
    "어디",
    "메뉴",
    "화면",
    "페이지",
    "where ",
    "which page",
    "which screen",
    "which menu",
    "what page",
];

/// Whether somebody wants to know where something is.
#[must_use]
pub fn asks_where(question: &str) -> bool {
    let lower = question.to_lowercase();
    WHERE.iter().any(|sign| lower.contains(sign))
}

/// The note that no model is configured, and how to add one.
#[must_use]
pub fn no_model(language: Language) -> &'static str {
    in_language(
        language,
        "언어 모델이 설정되지 않아 문서의 문장을 그대로 옮겼습니다. models.base_url과 models.model을 설정하거나 Ollama를 \
         켜면 모델이 답을 씁니다 (saem doctor).",
        "No language model is configured, so these are the documents' own sentences. Set models.base_url and \
         models.model, or start Ollama, to have answers written (saem doctor).",
    )
}

/// The note that a model failed and the documents' own sentences stand in.
#[must_use]
pub fn model_failed(language: Language, why: &str) -> String {
    let text = in_language(
        language,
        "모델이 답하지 못해 문서의 문장을 그대로 옮겼습니다",
        "The model gave no answer, so these are the documents' own sentences",
    );
    format!("{text}: {why}")
}

/// The words before what was said earlier.
#[must_use]
pub fn said_earlier(language: Language) -> &'static str {
    in_language(language, "앞서 이렇게 말씀하셨습니다:", "Earlier you said:")
}

fn in_language<'text>(language: Language, korean: &'text str, english: &'text str) -> &'text str {
    match language {
        Language::Korean | Language::Mixed => korean,
        Language::English | Language::Other => english,
    }
}
