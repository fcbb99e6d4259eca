//! Where in the product a question belongs: links that are offered when no document answers it.

use serde::{Deserialize, Serialize};

use crate::language::Language;
use crate::offline::Asked;

/// Links that are offered at a time.
const LINKS_MAX: usize = 3;

/// How much of an entry's title or of one of its keywords a question must say.
const SAID_MIN: f32 = 0.99;

/// A text in both languages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bilingual<T> {
    pub ko: T,
    pub en: T,
}

/// One entry of a menu.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MenuEntry {
    pub link: String,
    pub title: Bilingual<String>,
    /// Words that people use for it.
    pub keywords: Bilingual<Vec<String>>,
}

/// A menu of the product.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Menu {
    entries: Vec<MenuEntry>,
}

/// A link as it is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MenuLink {
    pub title: String,
    pub link: String,
}

impl Menu {
    #[must_use]
    pub fn new(entries: Vec<MenuEntry>) -> Self {
        Self { entries }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries whose names and keywords the question says, best first, named in `language`.
    #[must_use]
    pub fn find(&self, question: &str, language: Language) -> Vec<MenuLink> {
        let mut found: Vec<(usize, &MenuEntry)> = self
            .entries
            .iter()
            .map(|entry| (letters_said(question, entry), entry))
            .filter(|(letters, _)| *letters > 0)
            .collect();
        // Stable: equals stay in the order of the menu.
        found.sort_by_key(|(letters, _)| std::cmp::Reverse(*letters));
        let links = found.into_iter().take(LINKS_MAX).map(|(_, entry)| MenuLink {
            title: match language {
                Language::Korean | Language::Mixed => entry.title.ko.clone(),
                Language::English | Language::Other => entry.title.en.clone(),
            },
            link: entry.link.clone(),
        });
        links.collect()
    }
}

/// How many letters of an entry's title and keywords the question says: a longer keyword says more.
fn letters_said(question: &str, entry: &MenuEntry) -> usize {
    let titles = [&entry.title.ko, &entry.title.en];
    let words = titles.into_iter().chain(&entry.keywords.ko).chain(&entry.keywords.en);
    let is_said = |name: &&String| {
        let asked = Asked::new(name);
        !asked.is_empty() && asked.coverage(question) >= SAID_MIN
    };
    words.filter(is_said).map(|name| name.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(link: &str, ko: (&str, &[&str]), en: (&str, &[&str])) -> MenuEntry {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        MenuEntry {
            link: link.to_owned(),
            title: Bilingual { ko: ko.0.to_owned(), en: en.0.to_owned() },
            keywords: Bilingual { ko: words(ko.1), en: words(en.1) },
        }
    }

    fn menu() -> Menu {
        Menu::new(vec![
            entry(
                "/budgets",
                ("예산", &["한도", "예상 비용"]),
                ("Budgets", &["budget", "forecast"]),
            ),
            entry("/alerts", ("알림", &["알림 정책"]), ("Alerts", &["alert", "alert policy"])),
            entry("/cost", ("비용 분석", &["요금"]), ("Cost Analysis", &["spend"])),
        ])
    }

    #[track_caller]
    fn check(question: &str, language: Language, expected: &[&str]) {
        let found = menu().find(question, language);
        let titles: Vec<&str> = found.iter().map(|link| link.title.as_str()).collect();
        assert_eq!(titles, expected, "{question}");
    }

    #[test]
    fn a_question_that_says_a_name_or_keyword_is_led_there() {
        check("예산은 어디에서 만들어요?", Language::Korean, &["예산"]);
        check("where do I see my budget", Language::English, &["Budgets"]);
        check("요금을 보고 싶어", Language::Korean, &["비용 분석"]);
        check("오늘 날씨", Language::Korean, &[]);
    }

    #[test]
    fn who_says_more_comes_first() {
        check("alert policy for a budget", Language::English, &["Alerts", "Budgets"]);
    }

    #[test]
    fn a_menu_speaks_the_language_of_the_question() {
        check("budget 설정", Language::Korean, &["예산"]);
    }
}
