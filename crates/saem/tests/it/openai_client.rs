//! The openai package for Python, as it is, gets from Saem what it expects.

use crate::chat::small;
use crate::peers::script;
use crate::world::{PATIENCE, shown};

/// Runs the checks of this name; what they say shows where they failed.
async fn check(arguments: &[&str], checks_min: usize) {
    let mut command = script("openai_client.py");
    command.args(arguments).stderr(std::process::Stdio::piped());
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.expect("the client comes to an end").unwrap();
    let said = shown(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.matches("\"holds\": true").count() >= checks_min, "{said}");
}

#[tokio::test]
async fn the_openai_package_gets_answers_pieces_citations_usage_and_a_memory() {
    let world = small();
    let served = world.serve().await;
    check(&["answers", &served.address], 17).await;
}

#[tokio::test]
async fn the_openai_package_raises_the_error_that_fits_with_our_words() {
    let world = small();
    let created = world.json(&["key", "create", "--tenant", "acme", "--scopes", "read"]);
    let key = created[0]["key"].as_str().unwrap();
    let served = world.serve().await;
    check(&["errors", &served.address, key], 12).await;
}
