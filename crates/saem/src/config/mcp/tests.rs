//! Checks that configurations that people have are read as they are.

use std::os::unix::fs::PermissionsExt;

use agent::tools::policy::Trust;
use engine::tools::Launch;

use super::*;

fn mcp(servers: &str) -> Mcp {
    let text = include_str!("../../../../../config/default.toml");
    let mut table: toml::Table = text.parse().unwrap();
    let mut section = table.remove("mcp").unwrap();
    let own: toml::Table = servers.parse().unwrap();
    section.as_table_mut().unwrap().insert("servers".to_owned(), toml::Value::Table(own));
    section.try_into().unwrap()
}

fn variable(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "t0k".to_owned())
}

fn from_json(text: &str) -> Result<Servers> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(OWN_FILE), text).unwrap();
    mcp("").servers(folder.path(), &variable)
}

#[test]
fn the_file_of_claude_desktop_is_read_as_it_is() {
    let found = from_json(
        r#"{"globalShortcut": "", "mcpServers": {
            "filesystem": {"command": "npx", "args": ["-y", "server", "/docs"], "env": {"KEY": "${TOKEN}"}},
            "off": {"command": "x", "disabled": true},
            "web": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}}}"#,
    )
    .unwrap();
    assert_eq!(found.warnings, Vec::<String>::new());
    let [files, off, web] = found.servers.as_slice() else { panic!("{found:?}") };
    let Launch::Program { command, arguments, environment, .. } = &files.launch else { panic!() };
    assert_eq!((command.as_str(), arguments.len()), ("npx", 3));
    assert_eq!(environment["KEY"], "t0k");
    assert_eq!(files.rules.trust, Trust::Untrusted);
    assert!(files.enabled && !off.enabled);
    let Launch::Address { headers, .. } = &web.launch else { panic!() };
    assert_eq!(headers["Authorization"], "Bearer t0k");
    assert!(!format!("{found:?}").contains("t0k"), "secrets are not printed");
}

#[test]
fn the_files_of_vs_code_are_read_with_their_comments() {
    let found = from_json(
        "{ // mine\n \"servers\": { /* one */ \"git\": {\"type\": \"stdio\", \"command\": \"git//x\",}, },\n}",
    )
    .unwrap();
    assert_eq!(found.servers[0].launch.shown(), "git//x");
    let nested = from_json(r#"{"mcp": {"servers": {"a": {"command": "b"}}}}"#).unwrap();
    assert_eq!(nested.servers[0].name, "a");
}

#[test]
fn a_server_that_cannot_be_used_is_left_out_and_the_others_stay() {
    let found = from_json(
        r#"{"mcpServers": {"good": {"command": "x"}, "Good": {"command": "y"}, "none": {},
            "asks": {"command": "x", "env": {"K": "${input:key}"}}, "old": {"type": "sse", "url": "http://a/sse"},
            "unset": {"command": "x", "args": ["${MISSING}"]}, "else": {"command": "${MISSING:-z}"},
            "login": {"url": "https://user:hush@a/mcp"}, "file": {"url": "file:///etc/passwd"}}}"#,
    )
    .unwrap();
    let mut names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    names.sort_unstable();
    // Of two names that differ only in case, one stays.
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"else"));
    assert_eq!(found.warnings.len(), 7, "{:?}", found.warnings);
    assert!(!found.warnings.join(" ").contains("hush"));
}

#[test]
fn our_own_file_says_more_and_forgives_less() {
    let own = "[files]\ncommand = \"x\"\ntrust = \"trusted\"\nallow = [\"read_*\"]\ncall_seconds_max = 5\n";
    let folder = tempfile::tempdir().unwrap();
    let found = mcp(own).servers(folder.path(), &variable).unwrap();
    let server = &found.servers[0];
    assert_eq!(server.rules.trust, Trust::Trusted);
    assert_eq!(server.waits.call, Duration::from_secs(5));
    assert_eq!(server.waits.connect, Duration::from_secs(10));
    for wrong in
        ["[a]\ncomand = \"x\"", "[a]\n", "[a]\ncommand = \"x\"\nurl = \"http://a\"", "a = 1"]
    {
        assert!(mcp(wrong).servers(folder.path(), &variable).is_err(), "{wrong}");
    }
}

#[test]
fn a_file_that_others_may_write_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OWN_FILE);
    std::fs::write(&path, r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let error = format!("{:#}", mcp("").servers(folder.path(), &variable).unwrap_err());
    assert!(error.contains("chmod go-w"), "{error}");
}

#[test]
fn a_file_that_is_named_has_to_be_there_and_to_be_one() {
    for text in ["", "[]", "{\"other\": 1}", "{"] {
        assert!(from_json(text).is_err(), "{text}");
    }
    let mut mcp = mcp("");
    mcp.config = vec!["/does/not/exist.json".to_owned()];
    assert!(mcp.servers(Path::new("/does/not"), &variable).is_err());
}
