//! Adding, listing and deleting in a folder of its own, with tricks tried on it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn snippet(language: &str, name: &str, prefix: &str, body: &str) -> Snippet {
    Snippet {
        language: language.parse().unwrap(),
        name: name.parse().unwrap(),
        prefixes: vec![prefix.to_owned()],
        body: body.to_owned(),
        description: None,
    }
}

fn world() -> (tempfile::TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::new(home.path().join("Code/User/snippets"));
    (home, folder)
}

#[test]
fn a_snippet_is_written_as_editors_write_it_and_found_again() {
    let (_home, folder) = world();
    assert!(folder.list(None).unwrap().snippets.is_empty(), "there is no folder yet");
    let mut wanted = snippet("rust", "For loop", "forr", "for ${1:x} in $2 {\n\t$0\n}");
    wanted.description = Some("반복".to_owned());
    assert_eq!(folder.add(&wanted).unwrap(), Outcome::Changed);
    let text = fs::read_to_string(folder.path.join("rust.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({ "For loop": {
        "prefix": "forr", "body": ["for ${1:x} in $2 {", "\t$0", "}"], "description": "반복"
    } });
    assert_eq!(value, expected);
    assert_eq!(folder.list(None).unwrap().snippets, [wanted.clone()]);
    assert_eq!(folder.add(&wanted).unwrap(), Outcome::Unchanged);
    folder.delete(&wanted.language, &wanted.name).unwrap();
    assert!(folder.list(None).unwrap().snippets.is_empty());
}

#[test]
fn another_snippet_of_the_same_name_is_never_replaced() {
    let (_home, folder) = world();
    folder.add(&snippet("rust", "a", "a", "old")).unwrap();
    let before = fs::read(folder.path.join("rust.json")).unwrap();
    let fault = folder.add(&snippet("rust", "a", "a", "new")).unwrap_err();
    assert!(matches!(fault, Fault::Taken(_)), "{fault}");
    assert_eq!(fs::read(folder.path.join("rust.json")).unwrap(), before);
    folder.add(&snippet("go", "a", "a", "new")).unwrap();
}

#[test]
fn what_people_wrote_stays_with_comments_and_unknown_fields() {
    let (_home, folder) = world();
    fs::create_dir_all(&folder.path).unwrap();
    let file = folder.path.join("rust.json");
    let before = "{\n  // mine\n  \"mine\": { \"prefix\": [\"a\", \"b\"], \"body\": \"x\", \"scope\": \"rust\", },\n}\n";
    fs::write(&file, before).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    folder.add(&snippet("rust", "new", "n", "y")).unwrap();
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(before.trim_end().trim_end_matches('}').trim_end()), "{after}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        folder.find(&"rust".parse().unwrap(), &"mine".parse().unwrap()).unwrap().prefixes,
        ["a", "b"]
    );
    folder.delete(&"rust".parse().unwrap(), &"new".parse().unwrap()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_file_that_cannot_be_read_is_left_as_it_is_and_hides_no_other() {
    let (_home, folder) = world();
    folder.add(&snippet("go", "a", "a", "x")).unwrap();
    fs::write(folder.path.join("rust.json"), "{ broken").unwrap();
    let fault = folder.add(&snippet("rust", "a", "a", "x")).unwrap_err();
    assert!(fault.to_string().contains("line 1"), "{fault}");
    assert_eq!(fs::read_to_string(folder.path.join("rust.json")).unwrap(), "{ broken");
    let listing = folder.list(None).unwrap();
    assert_eq!((listing.snippets.len(), listing.faults.len()), (1, 1));
    fs::write(folder.path.join("rust.json"), " ".repeat(1024 * 1024 + 1)).unwrap();
    assert!(matches!(folder.add(&snippet("rust", "a", "a", "x")), Err(Fault::TooLong { .. })));
    fs::write(folder.path.join("rust.json"), b"{\"a\": \"\xff\"}").unwrap();
    assert!(matches!(folder.add(&snippet("rust", "a", "a", "x")), Err(Fault::NotPlain(_))));
}

#[test]
fn a_link_or_a_pipe_in_the_place_of_a_file_is_refused() {
    let (home, folder) = world();
    fs::create_dir_all(&folder.path).unwrap();
    let secret = home.path().join("secret.json");
    fs::write(&secret, "{\"key\": {\"prefix\": \"k\", \"body\": \"hush\"}}").unwrap();
    symlink(&secret, folder.path.join("rust.json")).unwrap();
    symlink(home.path().join("nowhere"), folder.path.join("go.json")).unwrap();
    let pipe = folder.path.join("c.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(folder.path.join("java.json")).unwrap();
    for language in ["rust", "go", "c", "java"] {
        let fault = folder.add(&snippet(language, "a", "a", "x")).unwrap_err();
        assert!(matches!(fault, Fault::NotPlain(_)), "{language}: {fault}");
        let fault = folder.delete(&language.parse().unwrap(), &"key".parse().unwrap()).unwrap_err();
        assert!(matches!(fault, Fault::NotPlain(_)), "{language}: {fault}");
    }
    let listing = folder.list(None).unwrap();
    assert_eq!((listing.snippets.len(), listing.faults.len()), (0, 4), "{:?}", listing.snippets);
    assert!(fs::read_to_string(secret).unwrap().contains("hush"));
}

#[test]
fn texts_that_no_menu_can_show_are_refused() {
    let (_home, folder) = world();
    for bad in [
        snippet("rust", "a", "", "x"),
        snippet("rust", "a", "a\nb", "x"),
        snippet("rust", "a", "a", ""),
        snippet("rust", "a", "a", "x\0"),
        snippet("rust", "a", "a", &"x".repeat(BODY_BYTES_MAX + 1)),
        snippet("rust", "a", &"x".repeat(LINE_CHARS_MAX + 1), "x"),
    ] {
        assert!(matches!(folder.add(&bad), Err(Fault::BadText { .. })), "{:?}", bad.prefixes);
    }
    assert!(!folder.path.exists(), "nothing was made");
}

#[test]
fn servers_that_write_at_once_lose_nothing() {
    let (_home, folder) = world();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                for number in 0..10 {
                    folder.add(&snippet("rust", &format!("{writer} {number}"), "a", "x")).unwrap();
                }
            });
        }
    });
    assert_eq!(folder.list(None).unwrap().snippets.len(), 40);
    let left: Vec<_> = fs::read_dir(&folder.path).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
