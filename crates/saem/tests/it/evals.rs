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

#[test]
fn a_sample_of_research_over_the_demo_invents_nothing_in_either_language() {
    let world = World::new();
    let lines = world.json(&["eval", "research", "--sample"]);
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in &lines {
        assert_eq!((&line["model"], &line["invented"]), (&"offline".into(), &0.into()), "{line}");
        assert!(line["citations"].as_u64().unwrap() > 0, "{line}");
        assert_eq!(line["claims"], line["supported"], "{line}");
    }
}

#[test]
fn claims_and_runs_are_measured_on_sets_of_the_same_form() {
    let world = World::new();
    let sets = world.files();
    std::fs::create_dir_all(sets.join("attributionbench")).unwrap();
    std::fs::create_dir_all(sets.join("hotpotqa")).unwrap();
    let pair = |claim: &str, label: &str| {
        serde_json::json!({
            "claim": claim, "references": ["Barley tea is served cold in summer."],
            "attribution_label": label, "src_dataset": "Tea",
        })
        .to_string()
    };
    let pairs = [
        pair("Barley tea is served cold in summer.", "attributable"),
        pair("Coffee has 12 kinds of beans.", "not attributable"),
    ];
    std::fs::write(sets.join("attributionbench/dev.jsonl"), pairs.join("\n")).unwrap();
    let folder = sets.to_str().unwrap();
    let lines = world.json(&["eval", "citations", "--sets", folder]);
    let figures: Vec<(&str, &serde_json::Value)> =
        lines.iter().map(|line| (line["kind"].as_str().unwrap(), &line["macro_f1"])).collect();
    assert_eq!(figures, [("Tea", &1.0.into()), ("all", &1.0.into())]);

    let question = serde_json::json!([{
        "question": "When is barley tea served cold?", "answer": "summer", "type": "bridge",
        "supporting_facts": {"title": ["Tea"], "sent_id": [0]},
        "context": {
            "title": ["Tea", "Beans"],
            "sentences": [["Barley tea is served cold in summer."], ["Beans are grown in rows."]],
        },
    }]);
    std::fs::write(sets.join("hotpotqa/dev_distractor_100.json"), question.to_string()).unwrap();
    let lines = world.json(&["eval", "research", "--sets", folder]);
    let all = lines.first().unwrap();
    assert_eq!((&all["kind"], &all["all_found"]), (&"all".into(), &1.0.into()), "{all}");
    assert_eq!((&all["answered"], &all["invented"]), (&1.0.into(), &0.0.into()), "{all}");
    assert!(world.error(&["eval", "citations"]).contains("--sets"), "the folder is asked for");
}
