//! The page: its files, which are in the binary, and what a browser may do with them.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};

use crate::input::Path;
use crate::page::files::{FILES, INDEX, STYLE, STYLES};
use crate::problem::Problem;
use crate::routes::{Access, Route};

mod files;

/// What the page may do: run our scripts and nobody else's, show our images, speak to this server. Its one place where
/// text becomes HTML has a name, `saem`, and takes only what the server has rendered.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types saem";

/// What stands in the first file for the name of this edition of all the others.
const EDITION: &str = "{edition}";

/// Digits that tell editions apart: 64 bits.
const EDITION_DIGITS: usize = 16;

/// Files change only under another address, so a browser asks for each once.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// All files as they are sent.
struct Page {
    index: Sent,
    edition: String,
    files: BTreeMap<&'static str, Sent>,
}

/// A file as it is sent.
struct Sent {
    kind: HeaderValue,
    tag: HeaderValue,
    plain: Bytes,
    gzip: Option<Bytes>,
}

static PAGE: LazyLock<Page> = LazyLock::new(Page::put_together);

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Vec<Route<S>> {
    let routes = vec![
        Route::get("/", Access::Fixed, "The page", index).gives_other(StatusCode::OK, "text/html"),
        Route::get("/page/{edition}/{*path}", Access::Fixed, "The page's files", file)
            .gives_other(StatusCode::OK, "text/javascript"),
    ];
    routes.into_iter().map(|route| route.tag("page")).collect()
}

async fn index(headers: HeaderMap) -> Response {
    let mut answer = PAGE.index.answer(&headers);
    let head = answer.headers_mut();
    head.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    head.insert(opener, HeaderValue::from_static("same-origin"));
    answer
}

async fn file(
    Path((edition, path)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let found = PAGE.files.get(path.as_str()).filter(|_| edition == PAGE.edition);
    let mut answer = found.ok_or_else(Problem::no_route)?.answer(&headers);
    answer.headers_mut().insert(CACHE_CONTROL, FOREVER);
    Ok(answer)
}

impl Page {
    fn put_together() -> Self {
        let mut digest = Sha256::new();
        let style = STYLES.map(|(_, bytes)| bytes).concat();
        let all = || FILES.iter().copied().chain([(STYLE, style.as_slice())]);
        for (path, bytes) in all() {
            digest.update(path);
            digest.update(bytes);
        }
        let edition = digits(&digest.finalize());
        let files = all().map(|(path, bytes)| (path, Sent::new(path, bytes))).collect();
        let index = Sent::new("index.html", INDEX.replace(EDITION, &edition).as_bytes());
        Self { index, edition, files }
    }
}

impl Sent {
    fn new(path: &str, bytes: &[u8]) -> Self {
        let tag = format!("\"{}\"", digits(&Sha256::digest(bytes)));
        Self {
            kind: HeaderValue::from_static(kind(path)),
            tag: HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\"")),
            gzip: gzip(bytes).filter(|packed| packed.len() < bytes.len()),
            plain: Bytes::copy_from_slice(bytes),
        }
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let known = headers.get(IF_NONE_MATCH).is_some_and(|tag| *tag == self.tag);
        let mut answer = match (known, self.gzip.as_ref().filter(|_| takes_gzip(headers))) {
            (true, _) => StatusCode::NOT_MODIFIED.into_response(),
            (false, Some(packed)) => {
                let gzip = [(CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
                (gzip, packed.clone()).into_response()
            }
            (false, None) => self.plain.clone().into_response(),
        };
        let head = answer.headers_mut();
        head.insert(CONTENT_TYPE, self.kind.clone());
        head.insert(ETAG, self.tag.clone());
        head.insert(VARY, HeaderValue::from(ACCEPT_ENCODING));
        answer
    }
}

/// Whether the caller takes gzip; one that says `q=0` does not.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused = parts.any(|part| {
            part.starts_with("q=0") && part.trim_matches(['q', '=', '0', '.']).is_empty()
        });
        named && !refused
    })
}

fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

fn digits(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.take(EDITION_DIGITS).map(|digit| format!("{digit:x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: HeaderName, value: &'static str) -> HeaderMap {
        [(name, HeaderValue::from_static(value))].into_iter().collect()
    }

    #[test]
    fn gzip_is_sent_to_whoever_takes_it() {
        for (said, expected) in [
            ("gzip, deflate, br", true),
            ("GZIP;q=0.5", true),
            ("br;q=1, gzip;q=0", false),
            ("gzip;q=0.0", false),
            ("identity", false),
        ] {
            assert_eq!(takes_gzip(&asked(ACCEPT_ENCODING, said)), expected, "{said}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_browser_that_has_a_file_is_told_so() {
        let sent = Sent::new("a.js", b"// A file.\n");
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, sent.tag.clone());
        assert_eq!(sent.answer(&headers).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(sent.answer(&HeaderMap::new()).status(), StatusCode::OK);
    }

    #[test]
    fn the_first_load_is_small() {
        let page = Page::put_together();
        let packed = |sent: &Sent| sent.gzip.as_ref().unwrap_or(&sent.plain).len();
        let all = page.files.values().map(packed).sum::<usize>() + packed(&page.index);
        assert!(all < 150_000, "{all}");
    }

    #[test]
    fn every_file_that_the_first_one_names_is_there() {
        let page = Page::put_together();
        let index = String::from_utf8(page.index.plain.to_vec()).unwrap();
        let prefix = format!("/page/{}/", page.edition);
        let named: Vec<&str> =
            index.split(&prefix).skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert!(named.len() > 5, "{index}");
        for path in named {
            assert!(page.files.contains_key(path), "{path}");
        }
    }

    /// The files that a module imports at once, by their paths.
    fn imported(path: &str) -> Vec<String> {
        let (_, bytes) = FILES.iter().find(|(known, _)| *known == path).unwrap();
        let text = std::str::from_utf8(bytes).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("import "));
        let named = lines.filter_map(|line| line.split('"').nth(1)).map(|name| {
            let mut folders: Vec<&str> = path.split('/').collect();
            folders.pop();
            for step in name.split('/') {
                match step {
                    "." => {}
                    ".." => _ = folders.pop(),
                    step => folders.push(step),
                }
            }
            folders.join("/")
        });
        named.collect()
    }

    #[test]
    fn all_modules_of_the_first_room_are_fetched_at_once() {
        let mut wanted = vec!["app.js".to_owned()];
        let mut place = 0;
        while let Some(path) = wanted.get(place).cloned() {
            let new: Vec<String> =
                imported(&path).into_iter().filter(|path| !wanted.contains(path)).collect();
            wanted.extend(new);
            place += 1;
        }
        assert!(wanted.len() > 15, "{wanted:?}");
        for path in &wanted {
            // A module that only another one names is asked for after that has come.
            let is_named = INDEX.contains(&format!("href=\"/page/{EDITION}/{path}\""));
            assert!(is_named || path == "app.js", "{path} has no modulepreload");
        }
    }
}
