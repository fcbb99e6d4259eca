//! The card at each path, and what a client reads out of it.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;

fn golden(version: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    serde_json::from_slice(&fs::read(folder.join(version).join("card.json")).unwrap()).unwrap()
}

fn card() -> AgentCard {
    read(&golden("1.0")).unwrap()
}

#[test]
fn the_new_path_answers_in_the_version_that_was_asked_for() {
    let card = card();
    let at = |header| at_path(&card, header, BareCard::Merged).unwrap();
    assert_eq!(at(Some("1.0")), golden("1.0"));
    assert_eq!(at(Some("0.3")), write_card(Version::V0_3, &card));
    assert!(at_path(&card, Some("7.0"), BareCard::Merged).is_err());
    assert_eq!(at_path(&card, None, BareCard::Strict).unwrap(), golden("1.0"));
}

#[test]
fn a_merged_card_is_read_by_clients_of_both_versions() {
    let card = card();
    let merged = at_path(&card, Some(""), BareCard::Merged).unwrap();
    assert_eq!(read(&merged).unwrap(), card);
    let mut old = merged.clone();
    old.as_object_mut().unwrap().remove("supportedInterfaces");
    let of_0_3 = read(&write_card(Version::V0_3, &card)).unwrap();
    assert_eq!(read(&old).unwrap(), of_0_3);
    assert_eq!(merged["securitySchemes"]["key"]["in"], "header");
    assert_eq!(merged["securitySchemes"]["key"]["apiKeySecurityScheme"]["location"], "header");
}

#[test]
fn the_old_path_has_what_0_1_and_0_2_look_for() {
    let old = at_old_path(&card());
    for name in [
        "url",
        "authentication",
        "securitySchemes",
        "security",
        "capabilities",
        "defaultInputModes",
    ] {
        assert!(old.get(name).is_some(), "{name}");
    }
    for name in ["supportedInterfaces", "signatures", "securityRequirements"] {
        assert!(old.get(name).is_none(), "{name}");
    }
}

#[test]
fn an_etag_does_not_change_with_the_signature() {
    let mut signed = golden("1.0");
    let input = etag_input(&signed).unwrap();
    signed["signatures"] = json!([]);
    assert_eq!(etag_input(&signed).unwrap(), input);
    signed["name"] = json!("other");
    assert_ne!(etag_input(&signed).unwrap(), input);
}

#[test]
fn an_extended_card_is_there_if_it_is_declared_and_configured() {
    let declared = card();
    let kind = |result: Result<&AgentCard, Error>| result.map(|_| ()).map_err(|error| error.kind);
    assert_eq!(kind(extended(&declared, Some(&declared))), Ok(()));
    assert_eq!(kind(extended(&declared, None)), Err(ErrorKind::ExtendedCardNotConfigured));
    let silent = AgentCard::default();
    assert_eq!(kind(extended(&silent, Some(&declared))), Err(ErrorKind::UnsupportedOperation));
}

#[track_caller]
fn check_choice(card: &Value, bindings: &[&str], expected: Option<(&str, Version, bool)>) {
    let card = read(card).unwrap();
    let choice = choose(&card, bindings);
    let found = choice
        .as_ref()
        .map(|choice| (choice.interface.url.as_str(), choice.version, choice.may_be_oldest));
    assert_eq!(found, expected);
}

#[test]
fn a_client_takes_the_first_interface_that_it_speaks() {
    let all = ["JSONRPC", "HTTP+JSON", "GRPC"];
    check_choice(
        &golden("1.0"),
        &all,
        Some(("https://saem.example.com/a2a", Version::V1_0, false)),
    );
    check_choice(&golden("1.0"), &["GRPC"], Some(("saem.example.com:443", Version::V1_0, false)));
    check_choice(
        &golden("0.3"),
        &all,
        Some(("https://saem.example.com/a2a", Version::V0_3, false)),
    );
    check_choice(
        &golden("0.2"),
        &all,
        Some(("https://saem.example.com/a2a", Version::V0_2, false)),
    );
    check_choice(&golden("0.2"), &["HTTP+JSON"], None);
    check_choice(
        &golden("0.1"),
        &all,
        Some(("https://maps-agent.example.com", Version::V0_3, true)),
    );
    let mut future = golden("1.0");
    for interface in future["supportedInterfaces"].as_array_mut().unwrap() {
        interface["protocolVersion"] = json!("2.0");
    }
    check_choice(&future, &all, None);
}
