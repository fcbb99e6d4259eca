//! Names that come from a model, checked before they become a path, a key of a file or a URI.

use std::fmt;
use std::str::FromStr;

/// Longest name of a language. The longest that editors ship has 17 letters.
const LANGUAGE_BYTES_MAX: usize = 64;

/// Longest name of a snippet, in characters: it stands in one line of a menu.
const NAME_CHARS_MAX: usize = 100;

/// Names that mean a device on Windows, whatever comes after a dot.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// The id of a language as editors use it, safe as the name of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Language(String);

/// The name of a snippet: one line of text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(String);

/// Why a name cannot be used, in words for whoever chose it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadName(String);

impl FromStr for Language {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let is_letter = |letter: char| {
            letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '+' | '#' | '.')
        };
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        let stem = text.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_good = starts_well
            && text.len() <= LANGUAGE_BYTES_MAX
            && text.chars().all(is_letter)
            && !text.contains("..")
            && !text.ends_with('.')
            && !DEVICES.contains(&stem.as_str());
        if !is_good {
            return Err(BadName(format!(
                "{text:?} is not the id of a language: it is one such as rust, typescriptreact or objective-c"
            )));
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let is_good = !text.is_empty()
            && text.trim() == text
            && text.chars().count() <= NAME_CHARS_MAX
            && !text.chars().any(char::is_control);
        if !is_good {
            return Err(BadName(format!(
                "{text:?} is not a name: it is one line of 1 to {NAME_CHARS_MAX} characters, without blanks around it"
            )));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The scheme of a snippet's URI.
const SCHEME: &str = "snippet://";

/// The template that all URIs of snippets follow.
pub(crate) const URI_TEMPLATE: &str = "snippet://{language}/{name}";

/// The URI of a snippet.
pub(crate) fn uri(language: &Language, name: &Name) -> String {
    format!("{SCHEME}{}/{}", escaped(&language.0), escaped(&name.0))
}

/// The snippet that a URI names, if it can name one.
pub(crate) fn of_uri(uri: &str) -> Option<(Language, Name)> {
    let (language, name) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    Some((unescaped(language)?.parse().ok()?, unescaped(name)?.parse().ok()?))
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_never_a_way_out_of_the_folder() {
        for good in ["rust", "objective-c", "c", "vue-html", "Log", "x.y", "c++", "c#"] {
            assert!(good.parse::<Language>().is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../rust",
            "a/b",
            "a\\b",
            "/etc/passwd",
            "~",
            ".hidden",
            "-x",
            "a..b",
            "a.",
            "rust\0",
            "ru st",
            "한글",
            "con",
            "NUL.rust",
            "rust\n",
            "C:rust",
            "%2e%2e",
        ] {
            assert!(bad.parse::<Language>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(65).parse::<Language>().is_err());
    }

    #[test]
    fn a_name_is_one_line_in_any_script() {
        for good in ["For loop", "반복문", "a/b", "\"quoted\"", "👋"] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
        for bad in ["", " a", "a ", "a\nb", "a\0", "\u{7f}"] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
        assert!("샘".repeat(101).parse::<Name>().is_err());
    }

    #[test]
    fn a_uri_gives_back_what_it_was_made_of() {
        for (language, name) in
            [("rust", "For loop"), ("c#", "50% off/더"), ("c++", "../x"), ("x.y", "?#")]
        {
            let (language, name) = (language.parse().unwrap(), name.parse().unwrap());
            let uri = uri(&language, &name);
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(of_uri(&uri), Some((language, name)), "{uri}");
        }
        assert_eq!(
            uri(&"rust".parse().unwrap(), &"For loop".parse().unwrap()),
            "snippet://rust/For%20loop"
        );
        for bad in [
            "snippet://rust",
            "file:///rust/a",
            "snippet://..%2F/a",
            "snippet://rust/%4",
            "snippet://rust/%zz",
            "snippet://rust/%ff",
        ] {
            assert_eq!(of_uri(bad), None, "{bad}");
        }
    }
}
