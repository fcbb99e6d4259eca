//! Signing and checking with a signature that anybody can compute: what is signed is what is tested.

use super::*;
use crate::model::{Capabilities, Interface, Skill};

/// Stands in for a real signature: a sum that depends on the key and on every byte.
fn sum(key: &str, input: &[u8]) -> Vec<u8> {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for byte in key.bytes().chain(input.iter().copied()) {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    sum.to_be_bytes().to_vec()
}

fn card() -> AgentCard {
    AgentCard {
        name: "샘".to_owned(),
        description: "Answers".to_owned(),
        version: "1".to_owned(),
        interfaces: vec![Interface {
            url: "https://example.com".to_owned(),
            binding: "JSONRPC".to_owned(),
            version: Some("1.0".to_owned()),
            tenant: None,
        }],
        capabilities: Capabilities { streaming: Some(false), ..Capabilities::default() },
        default_input_modes: vec!["text/plain".to_owned()],
        default_output_modes: vec!["text/plain".to_owned()],
        skills: vec![Skill { id: "ask".to_owned(), name: "Ask".to_owned(), ..Skill::default() }],
        ..AgentCard::default()
    }
}

fn header() -> SigningHeader {
    SigningHeader { algorithm: Algorithm::Es256, key_id: "k1".to_owned(), jku: None }
}

fn signed(card: &AgentCard) -> Value {
    let signatures = sign(card, &header(), |input| Ok::<_, ()>(sum("key", input))).unwrap();
    write_card(Version::V1_0, &AgentCard { signatures, ..card.clone() })
}

fn check(received: &Value) -> Result<Verified, SignatureError> {
    verify(received, |header, input, signature| {
        header.key_id == "k1" && sum("key", input) == signature
    })
}

#[test]
fn what_is_signed_is_the_canonical_card_without_its_signatures() {
    let mut card = card();
    card.skills[0].description = "Asks".to_owned();
    card.skills[0].tags = vec!["q".to_owned()];
    let mut inputs = Vec::new();
    let signatures = sign(&card, &header(), |input| {
        inputs.push(String::from_utf8(input.to_vec()).unwrap());
        Ok::<_, ()>(vec![1, 2, 3])
    })
    .unwrap();
    // Nothing in it is empty, so there is one signature.
    assert_eq!((inputs.len(), signatures.len()), (1, 1));
    let (protected, payload) = inputs[0].split_once('.').unwrap();
    assert_eq!(protected, signatures[0].protected);
    let decode = |text: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    assert_eq!(decode(protected), r#"{"alg":"ES256","kid":"k1","typ":"JOSE"}"#);
    assert_eq!(
        decode(payload),
        r#"{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"Answers","name":"샘","skills":[{"description":"Asks","id":"ask","name":"Ask","tags":["q"]}],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://example.com"}],"version":"1"}"#
    );
}

#[test]
fn a_card_with_empty_values_is_valid_to_both_kinds_of_verifiers() {
    let received = signed(&card());
    assert_eq!(received["signatures"].as_array().unwrap().len(), 2);
    for index in 0..2 {
        let mut one = received.clone();
        one["signatures"] = json!([received["signatures"][index]]);
        assert!(check(&one).is_ok(), "{index}");
    }
}

#[test]
fn order_space_and_what_is_not_part_of_a_card_do_not_matter_but_every_word_does() {
    let received = signed(&card());
    let text = serde_json::to_string_pretty(&received).unwrap();
    assert!(check(&serde_json::from_str(&text).unwrap()).is_ok());
    let mut more = received.clone();
    more["unknown"] = json!(1);
    assert!(check(&more).is_ok());
    for (place, value) in [
        ("/name", json!("Saem")),
        ("/supportedInterfaces/0/url", json!("https://evil.example")),
        ("/capabilities/streaming", json!(true)),
        ("/skills/0/id", json!("other")),
    ] {
        let mut tampered = received.clone();
        *tampered.pointer_mut(place).unwrap() = value;
        assert_eq!(check(&tampered), Err(SignatureError::NoneValid), "{place}");
    }
}

#[test]
fn a_signer_that_covers_its_own_further_fields_is_believed() {
    let mut received = write_card(Version::V1_0, &card());
    received["x-own"] = json!({ "b": 1, "a": [] });
    let protected = URL_SAFE_NO_PAD.encode(r#"{"kid":"k1","alg":"ES256"}"#);
    let payload = canonical(&received).unwrap();
    let signature =
        URL_SAFE_NO_PAD.encode(sum("key", signing_input(&protected, &payload).as_bytes()));
    received["signatures"] = json!([{ "protected": protected, "signature": signature }]);
    assert!(check(&received).is_ok());
    received["x-own"] = json!({ "b": 2, "a": [] });
    assert_eq!(check(&received), Err(SignatureError::NoneValid));
}

#[test]
fn headers_that_must_not_count_do_not() {
    let unsigned = write_card(Version::V1_0, &card());
    assert_eq!(check(&unsigned), Err(SignatureError::NotSigned));
    assert_eq!(check(&json!({ "signatures": [] })), Err(SignatureError::NoCard));
    for protected in [
        r#"{"alg":"none","kid":"k1"}"#,
        r#"{"alg":"HS256","kid":"k1"}"#,
        r#"{"alg":"ES256"}"#,
        r#"{"kid":"k1"}"#,
        r#"{"alg":"ES256","kid":"k1","crit":["x"],"x":1}"#,
        r#"{"alg":"ES256","kid":"k1","b64":false}"#,
        r#"{"alg":"ES256","kid":"k1","jku":7}"#,
        r#"{"alg":"ES256","kid":"k2"}"#,
        r#"["ES256"]"#,
        "no json",
    ] {
        let encoded = URL_SAFE_NO_PAD.encode(protected);
        let payload = payloads(&unsigned)[0].clone();
        let signature =
            URL_SAFE_NO_PAD.encode(sum("key", signing_input(&encoded, &payload).as_bytes()));
        let mut received = unsigned.clone();
        received["signatures"] = json!([{ "protected": encoded, "signature": signature }]);
        assert_eq!(check(&received), Err(SignatureError::NoneValid), "{protected}");
    }
}

#[test]
fn an_old_key_beside_a_new_one_is_enough_and_a_heap_of_signatures_is_not_read_to_its_end() {
    let received = signed(&card());
    let good = received["signatures"][0].clone();
    let bad = json!({ "protected": "e30", "signature": "AAAA" });
    let mut rotated = received.clone();
    rotated["signatures"] = json!([bad, good]);
    assert!(check(&rotated).is_ok());
    let mut heap = vec![bad; SIGNATURES_MAX];
    heap.push(good);
    rotated["signatures"] = Value::Array(heap);
    assert_eq!(check(&rotated), Err(SignatureError::NoneValid));
}

#[test]
fn a_card_signed_by_the_python_sdk_is_checked_against_what_it_signed() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/signing/python-sdk.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let expected = file["signingInput"].as_str().unwrap();
    let mut tried = Vec::new();
    let verified = verify(&file["card"], |header, input, signature| {
        assert_eq!((header.key_id.as_str(), signature.len()), ("k1", 64));
        assert_eq!(header.jku.as_deref(), Some("https://example.com/jwks.json"));
        tried.push(String::from_utf8(input.to_vec()).unwrap());
        input == expected.as_bytes()
    });
    let payloads: Vec<_> = tried
        .iter()
        .map(|input| {
            let payload = input.split_once('.').unwrap().1;
            String::from_utf8(URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
        })
        .collect();
    assert!(verified.is_ok(), "{payloads:#?}\n{}", file["payload"].as_str().unwrap());
}
