//! The server encrypts by itself, and asks its callers for certificates where it is told to.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{Served, World};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(file(name)).unwrap()
}

async fn serve(world: &World, client_ca: &str) -> Served {
    let path = |name: &str| file(name).display().to_string();
    let client_ca = if client_ca.is_empty() { String::new() } else { path(client_ca) };
    world
        .serve_with(&[
            ("SAEM_SERVER_TLS_CERTIFICATE", &path("server.test.pem")),
            ("SAEM_SERVER_TLS_KEY", &path("server.test-key.pem")),
            ("SAEM_SERVER_TLS_CLIENT_CA", &client_ca),
        ])
        .await
}

/// A client that trusts the CA, with a certificate or without.
fn client(has_certificate: bool) -> reqwest::Client {
    let ca = reqwest::Certificate::from_pem(&read("ca.test.pem")).unwrap();
    let builder = reqwest::Client::builder().no_proxy().tls_certs_only([ca]);
    let builder = match has_certificate {
        true => {
            let pem = [read("client.test.pem"), read("client.test-key.pem")].concat();
            builder.identity(reqwest::Identity::from_pem(&pem).unwrap())
        }
        false => builder,
    };
    builder.build().unwrap()
}

const CARD: &str = "/.well-known/agent-card.json";

#[tokio::test]
async fn a_server_with_a_certificate_is_reached_by_https_and_by_its_owner_as_before() {
    let world = World::new();
    let served = serve(&world, "").await;
    assert!(served.address.starts_with("https://"), "{}", served.address);
    let card: Value =
        client(false).get(served.url(CARD)).send().await.unwrap().json().await.unwrap();
    assert_eq!(card["supportedInterfaces"][0]["url"], json!(served.url("/a2a")));
    let plain = served.address.replace("https://", "http://");
    assert!(served.client.get(plain).send().await.is_err(), "nothing is said unencrypted");
    assert!(world.ok(&["search", "x"]).contains("nothing found"), "commands find the server");
}

#[tokio::test]
async fn where_certificates_are_asked_for_nobody_gets_in_without_one() {
    let world = World::new();
    let served = serve(&world, "ca.test.pem").await;
    for path in [CARD, "/health/live", "/a2a/tasks"] {
        let refused = client(false).get(served.url(path)).send().await;
        let refused = match refused {
            Ok(response) => response.bytes().await.is_err(),
            Err(_) => true,
        };
        assert!(refused, "{path}");
    }
    let card: Value =
        client(true).get(served.url(CARD)).send().await.unwrap().json().await.unwrap();
    assert!(card["securitySchemes"]["mutualTls"]["mtlsSecurityScheme"].is_object(), "{card}");
    let required = &card["securityRequirements"][0]["schemes"];
    assert!(required["mutualTls"].is_object(), "{card}");
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {} });
    let request = client(true).post(served.url("/a2a")).header("A2A-Version", "1.0").json(&asked);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["result"]["totalSize"], 0, "{answer}");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let world = World::new();
    let key = file("server.test-key.pem").display().to_string();
    let run = |environment: &[(&str, &str)]| {
        let output = world.run_with(&["serve", "--listen", "127.0.0.1:0"], environment);
        assert!(!output.status.success());
        crate::world::shown(&output)
    };
    let alone = run(&[("SAEM_SERVER_TLS_KEY", &key)]);
    assert!(alone.contains("tls_certificate"), "{alone}");
    let wrong = run(&[("SAEM_SERVER_TLS_KEY", &key), ("SAEM_SERVER_TLS_CERTIFICATE", &key)]);
    assert!(wrong.contains("no chain of certificates"), "{wrong}");
}
