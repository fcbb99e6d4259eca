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
    assert!(figure("false_alarms") <= 0.15, "{half}");
    assert!((figure("citations_valid") - 1.0).abs() < f64::EPSILON, "{half}");
}
