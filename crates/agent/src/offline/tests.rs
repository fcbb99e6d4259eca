//! Checks what is made of questions, passages and conversations without a model.

use super::*;
use crate::context::Conversation;
use crate::filter::TagValue;
use crate::identity::Timestamp;
use crate::knowledge::{Found, Passage};
use crate::memory::{Entities, MemoryLimits, NewEntity, Session, gate};
use crate::samples::{self, Words, said};
use crate::turn::NextAction;

fn passage(kind: &str, heading: &str, text: &str, similarity: f32) -> Passage {
    let found = Found { similarity: Some(similarity), ..Found::default() };
    Passage { found, ..samples::passage(kind, heading, text) }
}

fn nothing_said(entities: &Entities) -> Conversation<'_> {
    Conversation { memory: "", entities, short_term: &[] }
}

#[test]
fn what_was_said_answers_questions_about_it() {
    let mut entities = Entities::default();
    let fact = |key: &str, value: &str| NewEntity { key: key.to_owned(), value: value.to_owned() };
    entities.put(&fact("예산", "700만 원"), 2, 25);
    let turns = [said(1, "우리 팀 이름은 한결커머스야.", "네, 기억하겠습니다.")];
    let conversation = Conversation { memory: "", entities: &entities, short_term: &turns };
    let check = |question: &str, expected: Option<&str>| {
        let found = recollect(question, &conversation).map(|found| found.text);
        assert_eq!(found.as_deref(), expected, "{question}");
    };
    check("내 예산이 얼마였지?", Some("예산: 700만 원"));
    check("우리 팀 이름이 뭐라고 했지?", Some("우리 팀 이름은 한결커머스야."));
    check("예산 알림은 어떻게 만들어요?", None);
    check("내 비밀번호가 뭐였지?", None);
    let verdict = judge("내 예산이 얼마였지?", "내 예산이 얼마였지?", &[], &conversation);
    assert!(verdict.is_sufficient && verdict.ranked_indices.is_empty(), "{verdict:?}");
    let guide = passage("guide", "예산", "예산이 얼마인지는 예산 화면에서 봅니다.", 0.6);
    let verdict =
        judge("예산은 얼마까지 되나요?", "예산은 얼마까지 되나요?", &[guide], &conversation);
    assert_eq!(verdict.ranked_indices, [0], "{verdict:?}");
}

#[test]
fn a_follow_up_takes_over_what_it_does_not_replace() {
    let check = |before: &str, question: &str, expected: &str| {
        assert_eq!(contextual(question, &[said(1, before, "…")]), expected);
    };
    check("11월 분석해줘", "1월은?", "분석 1월은?");
    check(
        "기준 통화를 원화로 바꾸고 싶어요",
        "얼마나 걸려요?",
        "기준 통화 원화 바꾸고 얼마나 걸려요?",
    );
    check(
        "What are virtual tags?",
        "How many of them can I have?",
        "virtual tags How many of them can I have?",
    );
    let alone = "쿠버네티스 에이전트는 어떤 권한이 필요한가요?";
    check("11월 분석해줘", alone, alone);
    assert_eq!(contextual("1월은?", &[]), "1월은?");
}

#[test]
fn evidence_tells_an_answer_from_a_stranger() {
    let right = passage("guide", "예산 알림", "예산 임계값을 넘으면 알림을 보냅니다.", 0.6);
    let stranger = passage("guide", "로그인", "비밀번호는 12자 이상이어야 합니다.", 0.1);
    let verdict = judge(
        "예산 알림은 언제 오나요?",
        "예산 알림은 언제 오나요?",
        &[stranger.clone(), right],
        &nothing_said(&Entities::default()),
    );
    assert_eq!(verdict.ranked_indices, [1]);
    assert!(verdict.is_sufficient && verdict.confidence > 0.6, "{verdict:?}");
    let verdict = judge(
        "회사 주차장은 어디인가요?",
        "회사 주차장은 어디인가요?",
        &[stranger],
        &nothing_said(&Entities::default()),
    );
    assert!(verdict.ranked_indices.is_empty() && verdict.confidence < 0.5, "{verdict:?}");
    let mut near = passage("guide", "Weekly mail", "Mails go out at nine.", 0.45);
    near.score = 0.8;
    let verdict = judge(
        "예산 알림은 언제 오나요?",
        "예산 알림은 언제 오나요?",
        &[near],
        &nothing_said(&Entities::default()),
    );
    assert_eq!(verdict.next_action, Some(NextAction::GetSection), "{verdict:?}");
}

#[test]
fn a_name_that_no_passage_has_heard_of_is_no_good_sign() {
    let texts = ["The budget api has a terraform provider.".to_owned()];
    let unheard = |question: &str| {
        Asked::new(question).unheard(&texts).map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(unheard("Is there a GraphQL endpoint?"), ["graphql"]);
    assert_eq!(unheard("예산 API에 JDBC 드라이버가 있나요?"), ["jdbc"]);
    assert!(unheard("Can a Terraform-managed budget be edited?").is_empty());
    assert!(unheard("Which budget is mine?").is_empty());
    let about = passage("guide", "API endpoints", "The API has an endpoint for budgets.", 0.6);
    let sure = |question: &str| {
        let verdict = judge(
            question,
            question,
            std::slice::from_ref(&about),
            &nothing_said(&Entities::default()),
        );
        verdict.confidence
    };
    assert!(sure("Is there an API endpoint?") > 0.5);
    assert!(sure("Is there a GraphQL API endpoint?") < 0.5);
}

#[test]
fn what_a_question_is_about_weighs_more_than_how_it_is_put() {
    let check = |question: &str, text: &str| Asked::new(question).coverage(text);
    assert!(check("How can we avoid new budget alerts in the end?", "Budget alerts.") > 0.7);
    assert!(check("예산 알림을 바꾸고 싶은데 기다려야 하나요?", "예산 알림") > 0.7);
    assert!(check("연결하려면 어떤 권한이 있어야 하나요?", "연결 권한") > 0.8);
    // What is missing is the subject.
    assert!(check("Does it find the latency of a service?", "It finds a service.") < 0.6);
    assert!(check("백신을 찾아 줄 수 있나요?", "찾아 드립니다.") < 0.5);
    // Words of nothing else are still words.
    assert!(check("What is new?", "New this month.") > 0.9);
}

#[test]
fn an_english_word_is_met_where_a_word_begins() {
    let coverage = |question: &str, text: &str| Asked::new(question).coverage(text);
    assert!(coverage("port", "Support reports") < 0.1);
    assert!(coverage("ports", "A port of the server") > 0.9);
    assert!(coverage("the member's logs", "Members keep a log.") > 0.9);
}

#[test]
fn words_in_one_sentence_make_surer_than_words_apart() {
    let sure = |text: &str| {
        let found = passage("guide", "Alerts", text, 0.3);
        let question = "Which webhook signs a budget export?";
        judge(question, question, &[found], &nothing_said(&Entities::default())).confidence
    };
    let together = sure("The webhook signs every budget export. Nothing else does. It is quick.");
    let apart = sure("The webhook is quick. Nothing else signs. Every budget does it. An export.");
    assert!(together > apart, "{together} {apart}");
}

#[test]
fn a_pair_of_a_faq_is_whole_and_a_guide_may_go_on() {
    let next = |kind: &str| {
        let text = "Who pays for the bus?\n\nThe company pays for the train.";
        let question = "Who pays for the parking garage?";
        let found = [passage(kind, "Travel", text, 0.3)];
        let verdict = judge(question, question, &found, &nothing_said(&Entities::default()));
        assert!(!verdict.is_sufficient, "{verdict:?}");
        verdict.next_action
    };
    assert_eq!(next("faq"), None);
    assert_eq!(next("guide"), Some(NextAction::GetSection));
}

#[test]
fn a_korean_text_spells_names_its_own_way() {
    let sure = |question: &str, text: &str| {
        let found = passage("guide", "결제 카드", text, 0.6);
        judge(question, question, &[found], &nothing_said(&Entities::default())).confidence
    };
    let korean = "누비 카드 결제는 매월 4일에 청구됩니다.";
    assert!(sure("When is the card payment of Nubi charged?", korean) > 0.5);
    // Latin letters stay what they are from Korean to any text.
    assert!(sure("Nubi 카드 결제는 언제 청구되나요?", korean) < 0.5);
}

#[test]
fn the_other_language_says_it_too() {
    let asked = Asked::new("예산 알림은 언제 오나요?");
    assert!(asked.coverage("A budget alert is sent each morning.") > 0.7);
    assert!(asked.coverage("Passwords have twelve letters.") < 0.1);
}

#[test]
fn an_answer_is_made_of_the_text_and_cites_it() {
    let faq =
        passage("faq", "faq", "환불은 어떻게 하나요?\n결제 후 7일 안에 신청하면 됩니다.", 0.7);
    let guide = passage(
        "guide",
        "환불",
        "첫 문장은 다른 이야기입니다. 둘째도 그렇습니다. 셋째도 그렇습니다. 환불은 카드로 됩니다. 환불 신청은 설정에서 합니다. \
         환불에는 3일이 걸립니다. 환불 뒤에는 메일이 옵니다.",
        0.6,
    );
    let made = answer("환불은 어떻게 하나요?", &[faq, guide]);
    assert_eq!(made.cited, [0, 1]);
    let mut paragraphs = made.text.split("\n\n");
    assert_eq!(paragraphs.next(), Some("결제 후 7일 안에 신청하면 됩니다. [1]"));
    let second = paragraphs.next().unwrap();
    assert!(
        second.starts_with("환불은 카드로 됩니다.") && second.ends_with("메일이 옵니다. [2]"),
        "{second}"
    );
    assert_eq!(answer("x", &[]).text, "");
}

#[test]
fn a_pair_is_answered_without_its_question_and_known_by_it() {
    let text = "Can we still use v1?\nUntil when?\n\nUntil March. Then it ends.";
    let faq = passage("faq", "faq.jsonl", text, 0.7);
    let made = answer("Until when does v1 work?", std::slice::from_ref(&faq));
    assert_eq!(made.text, "Until March. Then it ends. [1]");
    let cited = crate::turn::Citation::new(1, &faq);
    assert_eq!(cited.heading_path, ["Can we still use v1? Until when?"]);
    let guide = crate::turn::Citation::new(1, &passage("guide", "Versions", text, 0.7));
    assert_eq!(guide.heading_path, ["Versions"]);
}

#[test]
fn links_to_other_files_become_their_words() {
    let said = |text: &str| answer("환불", &[passage("guide", "환불", text, 0.6)]).text;
    assert_eq!(
        said("환불은 [감사 로그](../en/audit.md)에 남습니다."),
        "환불은 감사 로그에 남습니다. [1]"
    );
    let kept = "환불은 [여기](https://example.com/a)에서, 목록 a[0](b c)도.";
    assert_eq!(said(kept), format!("{kept} [1]"));
    assert_eq!(said("환불 [열린](끝"), "환불 [열린](끝 [1]");
}

#[test]
fn steps_stay_whole() {
    let mut steps = passage(
        "guide",
        "연결",
        "1. 연다.\n2. 고른다.\n3. 이름을 넣는다.\n4. 확인한다.\n5. 저장한다.\n6. 끝.",
        0.6,
    );
    steps.edit().tags.insert("has_steps".to_owned(), vec![TagValue::Flag(true)]);
    assert_eq!(answer("연결은 어떻게 하나요?", &[steps]).text.lines().count(), 6);
}

#[test]
fn facts_have_the_name_of_what_they_are_said_of() {
    let check = |text: &str, expected: &[(&str, &str)]| {
        let found = facts(text);
        let found: Vec<_> =
            found.iter().map(|fact| (fact.key.as_str(), fact.value.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("이번 달 예산은 700만 원이에요.", &[("예산", "700만 원")]);
    check("Our budget is $10,000 and EC2 takes 41%.", &[("budget", "$10,000"), ("ec2", "41%")]);
    check("출시일은 12월 3일입니다.", &[("출시일", "12월 3일")]);
    check("안녕하세요", &[]);
}

#[test]
fn what_says_nothing_to_keep_gives_way_first() {
    let limits = MemoryLimits { sentences_max: 3, ..MemoryLimits::default() };
    let mut session = Session::new("s".parse().unwrap(), Timestamp(0));
    for (number, question) in (1..).zip([
        "하루픽 예산은 500만 원이에요.",
        "The contact is Ebba Lindqvist.",
        "오사카 여행은 취소할게요.",
        "점심 뭐 먹죠?",
        "날씨가 춥네요.",
        "고마워요.",
    ]) {
        session.add(said(number, question, "네."), &limits);
    }
    let draft = remember(&session.fold(&limits).unwrap(), &limits, &Words);
    let expected =
        "오사카 여행은 취소할게요.\nThe contact is Ebba Lindqvist.\n하루픽 예산은 500만 원이에요.";
    assert_eq!(draft.memory, expected);
    // Of a long text only what is worth most is looked at, what takes something back among it.
    let long = "So, the summer. It was a nice letter. Brittany is cancelled. We stay at home.";
    let mut session = Session::new("s".parse().unwrap(), Timestamp(0));
    (1..=6).for_each(|number| session.add(said(number, long, "Removed."), &limits));
    let draft = remember(&session.fold(&limits).unwrap(), &limits, &Words);
    assert_eq!(draft.memory, "Brittany is cancelled.");
}

#[test]
fn what_is_remembered_passes_the_gate() {
    let limits = MemoryLimits::default();
    let mut session = Session::new("s".parse().unwrap(), Timestamp(0));
    for number in 1..=40 {
        let question = format!(
            "{number}번째 비용은 ${number}00입니다. 예산은 {number}만 원이에요. 어떻게 줄이나요?"
        );
        session
            .add(said(number, &question, "이렇게 하면 됩니다. 30%를 줄일 수 있습니다."), &limits);
        let Some(fold) = session.fold(&limits) else { continue };
        let draft = remember(&fold, &limits, &Words);
        let gated = gate(&fold, &draft, &MemoryLimits { lost_percent_max: 100, ..limits }, &Words);
        let (text, entities) =
            gated.unwrap_or_else(|rejected| panic!("{rejected}: {}", draft.memory));
        assert!(text.starts_with(&format!("{}번째", fold.turns.last().unwrap().number)), "{text}");
        let rewritten = crate::memory::Rewritten {
            text,
            entities,
            written_by: "offline".to_owned(),
            written_at: Timestamp(number),
        };
        assert!(session.remember(&fold, rewritten, &limits));
    }
    assert_eq!(session.entities.get("예산").map(|fact| fact.value.as_str()), Some("35만 원"));
}
