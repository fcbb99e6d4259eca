//! The figures that the copilot is held to, on the demo's questions, without a model.

use crate::world::World;

#[test]
fn without_a_model_the_copilot_finds_gives_up_and_cites_as_it_should() {
    let world = World::new();
    let figures = world.json(&["eval", "copilot"]);
    let half = figures
        .iter()
        .find(|line| line["half"] == "held_out" && line["fallback_recall"].is_number())
        .expect("the half that nothing was tuned on has its figures");
    let figure = |name: &str| half[name].as_f64().unwrap();
    assert!(figure("hit3") >= 0.85, "{half}");
    assert!(figure("fallback_recall") >= 0.8, "{half}");
    assert!(figure("false_alarms") <= 0.1, "{half}");
    assert!((figure("citations_valid") - 1.0).abs() < f64::EPSILON, "{half}");
}

#[test]
fn the_sample_asks_each_kind_in_both_languages_and_says_what_a_turn_took() {
    let world = World::new();
    let lines = world.json(&["eval", "copilot", "--sample"]);
    let (all, turns) = lines.split_last().unwrap();
    let mut kinds: Vec<(&str, &str)> = turns
        .iter()
        .map(|turn| (turn["kind"].as_str().unwrap(), turn["language"].as_str().unwrap()))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!((turns.len(), kinds.len()), (10, 10), "{turns:?}");
    assert!(turns.iter().all(|turn| turn["seconds"].is_number()), "{turns:?}");
    assert_eq!(all["sample"], "all", "{all}");
    assert_eq!((&all["model"], &all["citations_valid"]), (&"offline".into(), &1.0.into()), "{all}");
}
