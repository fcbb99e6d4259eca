//! Checks how texts are taken apart.

use super::*;

/// Checks the whole words of a text, as the index and the question see them.
#[track_caller]
fn check_stems(text: &str, expected: &[&str]) {
    let stems: Vec<String> = words(text).into_iter().map(|word| word.stem).collect();
    assert_eq!(stems, expected);
}

#[track_caller]
fn check_grams(text: &str, expected: &[&str]) {
    let grams = words(text).into_iter().flat_map(|word| word.grams);
    let texts: Vec<String> = grams.map(|gram| gram.text).collect();
    assert_eq!(texts, expected);
}

#[track_caller]
fn check_parts(text: &str, stem: &str, parts: &[&str]) {
    let found = words(text);
    let [word] = found.as_slice() else { panic!("{text} gives {found:?}") };
    assert_eq!((word.stem.as_str(), word.parts.as_slice()), (stem, owned(parts).as_slice()));
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_korean_word_loses_its_particles() {
    check_stems("학교에서는 학교까지 학교를 학교의", &["학교"; 4]);
    check_stems("집에서 책을 물은", &["집", "책", "물"]);
    check_stems("회사들에게까지는", &["회사"]);
}

#[test]
fn a_particle_is_cut_only_after_the_sound_it_follows() {
    // 를 and 가 follow a vowel, 을 and 이 a consonant.
    check_stems("가을 국가 마을", &["가을", "국가", "마을"]);
    check_stems("서울로 부산으로", &["서울", "부산"]);
}

#[test]
fn a_noun_is_found_in_the_verbs_made_of_it() {
    check_stems("주도한 주도하는 주도했다 주도하였다", &["주도"; 4]);
    check_stems("파견된 파견되었다 파견됩니다", &["파견"; 3]);
}

#[test]
fn a_word_of_one_syllable_is_kept() {
    check_stems("물", &["물"]);
    check_grams("물", &["물"]);
    check_grams("물을", &["물", "물을"]);
}

#[test]
fn hangul_gives_overlapping_pairs_of_syllables() {
    check_grams("지명수배", &["지명", "명수", "수배"]);
    check_grams("지명 수배", &["지명", "수배"]);
}

#[test]
fn a_pair_that_touches_an_ending_is_marked() {
    let found = words("혐의로");
    let places: Vec<GramPlace> =
        found.iter().flat_map(|word| &word.grams).map(|gram| gram.place).collect();
    assert_eq!(places, [GramPlace::Stem, GramPlace::Ending]);
}

#[test]
fn a_pair_of_an_ending_alone_is_left_out() {
    check_grams("서울에서는", &["서울", "울에"]);
    check_grams("물에서", &["물", "물에"]);
}

#[test]
fn a_particle_after_a_latin_word_is_no_word() {
    check_stems("AWS는 API를 EC2에서", &["aws", "api", "ec2"]);
    check_stems("AWS계정은", &["aws", "계정"]);
}

#[test]
fn a_number_keeps_its_counter() {
    check_grams("6월 30일", &["월", "6월", "일", "30일"]);
    check_stems("1989년", &["1989", "년"]);
}

#[test]
fn words_of_questions_are_function_words() {
    for word in ["무엇인가요", "누구인가", "언제", "어떻게", "which", "What", "the"] {
        let kinds: Vec<WordKind> = words(word).into_iter().map(|word| word.kind).collect();
        assert_eq!(kinds, [WordKind::Function], "{word}");
    }
}

#[test]
fn english_words_are_stemmed() {
    check_stems("connected connecting connection connects", &["connect"; 4]);
    check_stems("policies policy", &["polici"; 2]);
    check_stems("hopping hoped sized falling", &["hop", "hope", "size", "fall"]);
    check_stems("is was bus class", &["is", "was", "bus", "class"]);
}

#[test]
fn codes_are_kept_whole_and_in_parts() {
    check_parts("NB-4031", "nb4031", &["nb", "4031"]);
    check_parts("m5.2xlarge", "m5.2xlarge", &["m5", "2xlarge"]);
    check_parts("gpt-5-nano", "gpt5nano", &["gpt", "5", "nano"]);
    check_parts("v1.2.3", "v1.2.3", &["v1", "2", "3"]);
    check_parts("X-Nubi-Signature", "xnubisignature", &["nubi", "signatur"]);
    assert_eq!(words("NB-4031").first().map(|word| word.kind), Some(WordKind::Code));
}

#[test]
fn a_hyphen_or_a_space_more_still_meets() {
    check_stems("e-mail email", &["email", "email"]);
    check_parts("10GB", "10gb", &["10", "gb"]);
}

#[test]
fn amounts_lose_their_commas_and_percent_stays() {
    check_parts("$12,500", "12500", &[]);
    check_parts("15%", "15%", &["15"]);
    check_parts("3.5%", "3.5%", &["3.5"]);
    check_stems("one,two", &["on", "two"]);
}

#[test]
fn languages_with_signs_in_their_names_are_words() {
    check_stems("C++ C# C", &["c++", "c#", "c"]);
}

#[test]
fn a_possessive_is_dropped() {
    check_stems("Wood's Wood’s wood", &["wood"; 3]);
    check_stems("don't", &["dont"]);
}

#[test]
fn the_words_in_a_camel_case_name_are_indexed() {
    let humps: Vec<String> =
        words("GetCostAndUsage").into_iter().flat_map(|word| word.humps).collect();
    assert_eq!(humps, ["get", "cost", "and", "usag"]);
}

#[test]
fn width_case_accents_and_jamo_do_not_matter() {
    check_stems("ＡＷＳ　Ｓ３", &["aws", "s3"]);
    check_stems("Café CAFÉ cafe\u{301}", &["cafe"; 3]);
    check_stems("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", &["한글"]);
}

#[test]
fn han_characters_give_pairs_too() {
    check_grams("朝鮮王", &["朝鮮", "鮮王"]);
}

#[test]
fn mixed_text_keeps_its_order_and_places() {
    let text = "NB-4031 오류는 IAM 역할에서";
    let found = words(text);
    let places: Vec<&str> = found.iter().filter_map(|word| text.get(word.from..word.to)).collect();
    assert_eq!(places, ["NB-4031", "오류는", "IAM", "역할에서"]);
    check_stems(text, &["nb4031", "오류", "iam", "역할"]);
}

#[test]
fn a_term_has_a_longest_length() {
    let long = "a1".repeat(TERM_LETTERS_MAX);
    check_stems(&long, &[""]);
    // Syllables of a long run are still found.
    assert!(words(&"가나".repeat(TERM_LETTERS_MAX)).iter().any(|word| !word.grams.is_empty()));
}

#[test]
fn text_without_words_gives_nothing() {
    for text in ["", " \n\t", "…!?", "🙂🙂", "\u{0}\u{301}"] {
        assert_eq!(words(text), [], "{text:?}");
    }
}

#[test]
fn function_words_are_in_order_for_the_search() {
    for word in ["a", "before", "the", "yours"] {
        assert!(english::is_function_word(word), "{word}");
    }
    assert!(!english::is_function_word("budget"));
}
