//! Checks what questions find.

use tantivy::collector::TopDocs;
use tantivy::schema::{STORED, Schema, Value};
use tantivy::{Index, TantivyDocument};

use super::*;
use crate::plain;

/// An index of `(heading, body)`, each known by its body.
struct World {
    searcher: Searcher,
    fields: KeywordFields,
    body: Field,
}

fn world(passages: &[(&str, &str)]) -> World {
    let mut schema = Schema::builder();
    let fields = KeywordFields::declare(&mut schema);
    let body = schema.add_text_field("body", STORED);
    let index = Index::create_in_ram(schema.build());
    plain::register_tokenizer(&index);
    let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
    for (heading, text) in passages {
        let mut document = TantivyDocument::default();
        plain::add(fields, &mut document, heading, text);
        document.add_text(body, text);
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    World { searcher: index.reader().unwrap().searcher(), fields, body }
}

impl World {
    fn found(&self, question: &str) -> Vec<String> {
        let Some(plan) = plan(&self.searcher, self.fields, question).unwrap() else {
            return Vec::new();
        };
        let best = TopDocs::with_limit(10).order_by_score();
        let hits = self
            .searcher
            .search_with_statistics_provider(&plan.query, &best, &plan.statistics)
            .unwrap();
        hits.into_iter()
            .map(|(_, address)| {
                let document: TantivyDocument = self.searcher.doc(address).unwrap();
                document.get_first(self.body).unwrap().as_str().unwrap().to_owned()
            })
            .collect()
    }

    fn coverage(&self, question: &str) -> f32 {
        let plan = plan(&self.searcher, self.fields, question).unwrap().unwrap();
        let best = TopDocs::with_limit(1).order_by_score();
        let hits = self.searcher.search(&plan.query, &best).unwrap();
        hits.first().map_or(0.0, |hit| coverage(hit.0, plan.full_score))
    }
}

const PASSAGES: &[(&str, &str)] = &[
    ("AWS 연결", "외부 ID는 발급한 때부터 24시간 동안 유효합니다."),
    ("오류 코드", "NB-4031 역할을 맡을 수 없습니다. 신뢰 정책을 확인합니다."),
    ("오류 코드", "NB-4032 버킷을 읽을 수 없습니다. 권한을 확인합니다."),
    ("Budgets", "A budget is checked every six hours against the forecast."),
    ("Rightsizing", "Idle machines are those below five percent for two weeks."),
    ("Exports", "Parquet files are written to the bucket that was named."),
];

#[track_caller]
fn check_first(question: &str, start: &str) {
    let found = world(PASSAGES).found(question);
    assert!(found.first().is_some_and(|body| body.starts_with(start)), "{question}: {found:?}");
}

#[test]
fn a_question_finds_its_passage_in_both_languages() {
    check_first("외부 아이디가 유효한 기간은 얼마인가요?", "외부 ID");
    check_first("How often are budgets checked?", "A budget");
    check_first("which machine is idle", "Idle machines");
}

#[test]
fn a_question_finds_what_the_other_language_calls_so() {
    check_first("예산 예측", "A budget");
    check_first("유휴 서버", "Idle machines");
    check_first("trust policy", "NB-4031");
}

#[test]
fn a_text_in_the_questions_own_words_comes_before_one_that_has_to_be_translated() {
    let world = world(&[("", "The budget of a server."), ("", "서버의 예산.")]);
    assert_eq!(world.found("서버 예산"), ["서버의 예산.", "The budget of a server."]);
    assert_eq!(world.found("server budget"), ["The budget of a server.", "서버의 예산."]);
}

#[test]
fn what_is_quoted_is_not_translated() {
    let world = world(&[("", "The budget of a team."), ("", "나무")]);
    assert_eq!(world.found("예산"), ["The budget of a team."]);
    assert!(world.found("\"예산\"").is_empty());
}

#[test]
fn a_code_finds_its_own_passage_however_it_is_written() {
    check_first("NB-4031 오류가 나요", "NB-4031");
    check_first("nb4032", "NB-4032");
    check_first("NB 4032", "NB-4032");
}

#[test]
fn a_heading_is_searched_with_its_text() {
    check_first("rightsizing", "Idle machines");
}

#[test]
fn a_question_of_function_words_alone_is_still_looked_up() {
    assert!(!world(&[("", "to be or not to be")]).found("to be or not to be").is_empty());
    assert_eq!(world(&[("", "Ask IT."), ("", "Ask it of us.")]).found("IT"), ["Ask IT."]);
}

#[test]
fn nothing_to_look_up_gives_no_plan() {
    let world = world(PASSAGES);
    for question in ["", "?!", "🙂"] {
        assert!(plan(&world.searcher, world.fields, question).unwrap().is_none(), "{question}");
    }
}

#[test]
fn a_collection_of_one_word_is_searched() {
    assert_eq!(world(&[("", "budget")]).found("budgets"), ["budget"]);
}

#[test]
fn an_empty_index_finds_nothing() {
    assert!(world(&[]).found("예산 budget").is_empty());
}

#[test]
fn coverage_tells_a_question_met_from_one_that_is_not() {
    let world = world(PASSAGES);
    let met = world.coverage("A budget is checked every six hours");
    let unmet = world.coverage("How does a vacation in Lisbon get booked with a budget?");
    assert!(met > 0.5 && unmet < 0.3 && unmet > 0.0, "{met} {unmet}");
    assert_eq!(world.coverage("qwerty"), 0.0);
}

#[test]
fn a_query_has_a_bounded_number_of_terms() {
    let body: String = (0..500).map(|number| format!("word{number} ")).collect();
    let world = world(&[("", &body)]);
    let plan = plan(&world.searcher, world.fields, &body).unwrap().unwrap();
    let mut terms = 0;
    plan.query.query_terms(&mut |_, _| terms += 1);
    assert_eq!(terms, TERMS_MAX);
}

#[test]
fn a_question_of_a_megabyte_is_cut_at_a_syllable() {
    let world = world(PASSAGES);
    let hostile = format!("예산 {}", "가나다라마바사 ".repeat(50_000));
    assert!(hostile.len() > 1_000_000);
    assert!(plan(&world.searcher, world.fields, &hostile).unwrap().is_some());
    let beyond = format!("{} budget", "가".repeat(QUESTION_BYTES_MAX));
    assert!(world.found(&beyond).is_empty());
}

#[test]
fn the_costliest_terms_fall_out_first() {
    let term = |rarity: f32, found_in: u64| ChosenTerm {
        term: Term::from_field_text(Field::from_field_id(0), "x"),
        weight: 1.0,
        rarity,
        found_in,
    };
    let mut terms: Vec<ChosenTerm<Term>> =
        (0..TERMS_MIN).map(|_| term(9.0, ENTRIES_MAX / 8)).collect();
    terms.push(term(1.0, ENTRIES_MAX));
    terms.push(term(2.0, 10));
    terms.push(term(9.0, 0));
    let kept: Vec<u64> = worth_it(terms).iter().map(|term| term.found_in).collect();
    assert_eq!(kept.len(), TERMS_MIN + 1);
    assert_eq!(kept.last(), Some(&10));
}
