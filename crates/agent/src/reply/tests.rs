//! Checks what is taken for small talk, and what is said instead of an answer.

use super::*;

#[test]
fn small_talk_is_told_from_questions() {
    for (said, expected) in [
        ("안녕하세요!", Some(SmallTalk::Greeting)),
        ("Hi there :)", Some(SmallTalk::Greeting)),
        ("정말 고마워요~", Some(SmallTalk::Thanks)),
        ("Thank you so much!", Some(SmallTalk::Thanks)),
        ("bye", Some(SmallTalk::Farewell)),
        ("네, 알겠습니다.", Some(SmallTalk::Agreement)),
        ("넌 누구야?", Some(SmallTalk::AboutSaem)),
        ("What can you do?", Some(SmallTalk::AboutSaem)),
        ("안녕하세요, 예산 알림은 어떻게 만드나요?", None),
        ("help center 주소", None),
        ("1월은?", None),
        ("", None),
        ("???", None),
    ] {
        assert_eq!(small_talk(said), expected, "{said}");
    }
}

#[test]
fn fallbacks_say_what_the_design_says_and_offer_the_menu() {
    let link = MenuLink { title: "예산".to_owned(), link: "/budgets".to_owned() };
    let text = fallback(Fallback::NotFound, Language::Korean, &[link]);
    assert_eq!(
        text,
        "관련 문서를 찾지 못했습니다.\n\n다음 메뉴가 도움이 될 수 있습니다.\n\n- [예산](/budgets)"
    );
    assert_eq!(
        fallback(Fallback::InPreparation, Language::Korean, &[]),
        "해당 내용은 준비 중입니다."
    );
    assert!(fallback(Fallback::NotFound, Language::English, &[]).is_ascii());
    assert!(fallback(Fallback::InPreparation, Language::English, &[]).is_ascii());
}

#[test]
fn who_asks_where_is_told_from_who_asks_what() {
    for (question, expected) in [
        ("세금계산서 어디 있나요", true),
        ("Which page shows namespaces?", true),
        ("Where do I change it?", true),
        ("예산이 뭔가요?", false),
        ("What is a budget?", false),
    ] {
        assert_eq!(asks_where(question), expected, "{question}");
    }
}
