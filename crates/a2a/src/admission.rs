//! Whether a call may be made at all, by what the agent can do and what the caller said, before anything is looked up.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind};
use crate::limits::NAMES_MAX;
use crate::model::{Capabilities, Content, Message, Operation, PushConfig, Send};
use crate::version::Version;

/// The extensions that a caller says it knows: the value of the version's header, one or several of them.
#[must_use]
pub fn extensions<'a>(headers: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let named = headers.into_iter().flat_map(|header| header.split(','));
    named.map(str::trim).filter(|uri| !uri.is_empty()).take(NAMES_MAX).map(str::to_owned).collect()
}

/// The extensions that are active for a call, to be echoed in the answer's header: those that both sides know.
#[must_use]
pub fn active<'a>(capabilities: &'a Capabilities, named: &BTreeSet<String>) -> Vec<&'a str> {
    let known = capabilities.extensions.iter().map(|extension| extension.uri.as_str());
    known.filter(|uri| named.contains(*uri)).collect()
}

/// Checks a call against the agent's capabilities.
///
/// # Errors
/// In the words of the protocol: streams or webhooks that the agent does not do, an extension that the caller would have to
/// know, a task that a client tries to name.
pub fn check(
    operation: &Operation,
    version: Version,
    capabilities: &Capabilities,
    named: &BTreeSet<String>,
) -> Result<(), Error> {
    // Versions that could not say so are not held to it.
    let unmet = capabilities
        .extensions
        .iter()
        .find(|one| one.required == Some(true) && !named.contains(&one.uri));
    if let Some(extension) = unmet.filter(|_| version.extensions_header().is_some()) {
        let words = format!("Extension support is required: {}", extension.uri);
        return Err(Error::new(ErrorKind::ExtensionSupportRequired, words));
    }
    match operation {
        Operation::Send(send) => check_send(send, capabilities),
        Operation::Stream(send) => {
            check_streams(capabilities)?;
            check_send(send, capabilities)
        }
        Operation::Subscribe { .. } => check_streams(capabilities),
        Operation::CreatePush(config) => {
            check_pushes(capabilities)?;
            check_push(config)
        }
        Operation::GetPush { .. } | Operation::ListPush { .. } | Operation::DeletePush { .. } => {
            check_pushes(capabilities)
        }
        Operation::Get { .. }
        | Operation::List(_)
        | Operation::Cancel { .. }
        | Operation::ExtendedCard => Ok(()),
    }
}

fn check_streams(capabilities: &Capabilities) -> Result<(), Error> {
    if capabilities.streaming == Some(true) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::UnsupportedOperation,
        "This operation is not supported: the agent does not stream",
    ))
}

fn check_pushes(capabilities: &Capabilities) -> Result<(), Error> {
    if capabilities.push_notifications == Some(true) {
        return Ok(());
    }
    Err(Error::of(ErrorKind::PushNotSupported))
}

fn check_send(send: &Send, capabilities: &Capabilities) -> Result<(), Error> {
    match &send.configuration.push {
        None => Ok(()),
        Some(config) => {
            check_pushes(capabilities)?;
            check_push(config)
        }
    }
}

/// What of a webhook can be checked without a network: its address is checked by the egress guard, each time it is used.
fn check_push(config: &PushConfig) -> Result<(), Error> {
    let is_web = config.url.starts_with("http://") || config.url.starts_with("https://");
    if !is_web || config.url.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        return Err(Error::violation("url", "is an http or https URL"));
    }
    let schemes = config.authentication.iter().flat_map(|authentication| &authentication.schemes);
    let credentials = config
        .authentication
        .iter()
        .filter_map(|authentication| authentication.credentials.as_ref());
    let mut secrets = config.token.iter().chain(schemes).chain(credentials);
    // They go into headers: a line break would begin another.
    if secrets.any(|text| text.chars().any(char::is_control)) {
        return Err(Error::violation("authentication", "has no control characters"));
    }
    Ok(())
}

/// Refuses parts that the agent cannot read. A text is always read; a file or data needs one of the media types, which may
/// be ranges such as `text/*`. A file that does not say its type is looked at by whoever reads it.
///
/// # Errors
/// With the first part that is of another type.
pub fn check_parts(message: &Message, media_types: &[&str]) -> Result<(), Error> {
    for part in &message.parts {
        let said = match &part.content {
            Content::Text(_) => None,
            Content::Data(_) => Some(part.media_type.as_deref().unwrap_or("application/json")),
            Content::Raw(_) | Content::Url(_) => part.media_type.as_deref(),
        };
        let Some(said) = said else { continue };
        let essence = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let fits = |range: &&str| match range.strip_suffix('*') {
            Some(start) => {
                essence.starts_with(start.trim_start_matches('*').trim_start_matches('/'))
            }
            None => essence == **range,
        };
        if !media_types.iter().any(fits) {
            let end = said.floor_char_boundary(crate::limits::ID_BYTES_MAX);
            let said = said.get(..end).unwrap_or_default();
            let words = format!("Incompatible content types: a part is {said}");
            return Err(Error::new(ErrorKind::ContentTypeNotSupported, words));
        }
    }
    Ok(())
}

/// What a message asks for: a task of its own, or a further turn of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A new task; the server names it.
    New,
    /// The task of this id. If it is not there, or not the caller's: [`Error::task_not_found`].
    Existing(crate::ids::TaskId),
    /// The task of this id; if there is none, it is made under it. Tasks of 0.1 are named by their callers, so the name
    /// counts for that caller alone.
    Named(crate::ids::TaskId),
}

/// Says what a message is to be sent to.
#[must_use]
pub fn target(message: &Message, version: Version) -> Target {
    match &message.task {
        None => Target::New,
        Some(task) if version.client_names_tasks() => Target::Named(task.clone()),
        Some(task) => Target::Existing(task.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Extension, Part, Role, SendConfiguration};
    use crate::samples::message;

    fn send(push: Option<PushConfig>) -> Send {
        let configuration = SendConfiguration { push, ..SendConfiguration::default() };
        Send { message: message("m", Role::User, "hi"), configuration, metadata: None }
    }

    fn push(url: &str, token: &str) -> PushConfig {
        let task = Some("t".parse().unwrap());
        PushConfig {
            id: None,
            task,
            tenant: None,
            url: url.to_owned(),
            token: Some(token.to_owned()),
            authentication: None,
        }
    }

    fn kind(operation: &Operation, capabilities: &Capabilities) -> Option<ErrorKind> {
        check(operation, Version::V1_0, capabilities, &BTreeSet::new())
            .err()
            .map(|error| error.kind)
    }

    #[test]
    fn what_the_agent_does_not_do_is_refused_in_its_own_words() {
        let none = Capabilities::default();
        let all = Capabilities {
            streaming: Some(true),
            push_notifications: Some(true),
            ..Capabilities::default()
        };
        let hook = push("https://x.example", "t");
        let task = || "t".parse().unwrap();
        for (operation, refused) in [
            (Operation::Send(send(None)), None),
            (Operation::Stream(send(None)), Some(ErrorKind::UnsupportedOperation)),
            (
                Operation::Subscribe { task: task(), metadata: None },
                Some(ErrorKind::UnsupportedOperation),
            ),
            (Operation::Send(send(Some(hook.clone()))), Some(ErrorKind::PushNotSupported)),
            (Operation::CreatePush(hook), Some(ErrorKind::PushNotSupported)),
            (
                Operation::GetPush { task: task(), config: None, metadata: None },
                Some(ErrorKind::PushNotSupported),
            ),
        ] {
            assert_eq!(kind(&operation, &none), refused, "{operation:?}");
            assert_eq!(kind(&operation, &all), None, "{operation:?}");
        }
        for (url, token) in [("ftp://x", "t"), ("https://x\n", "t"), ("https://x", "a\r\nb: c")] {
            let operation = Operation::CreatePush(push(url, token));
            assert_eq!(kind(&operation, &all), Some(ErrorKind::InvalidParams), "{url} {token}");
        }
    }

    #[test]
    fn a_required_extension_has_to_be_named_by_who_can() {
        let extension = |uri: &str, required| Extension {
            uri: uri.to_owned(),
            description: None,
            required,
            params: None,
        };
        let capabilities = Capabilities {
            extensions: vec![extension("urn:a", Some(true)), extension("urn:b", Some(false))],
            ..Capabilities::default()
        };
        let operation = Operation::Send(send(None));
        let refused = |version, header: &str| {
            check(&operation, version, &capabilities, &extensions([header]))
                .err()
                .map(|error| error.kind)
        };
        assert_eq!(refused(Version::V1_0, ""), Some(ErrorKind::ExtensionSupportRequired));
        assert_eq!(refused(Version::V1_0, "urn:b"), Some(ErrorKind::ExtensionSupportRequired));
        assert_eq!(refused(Version::V1_0, " urn:c , urn:a"), None);
        assert_eq!(refused(Version::V0_1, ""), None);
        assert_eq!(
            active(&capabilities, &extensions(["urn:c,urn:b", "urn:a"])),
            ["urn:a", "urn:b"]
        );
    }

    #[test]
    fn parts_of_types_that_the_agent_cannot_read_are_refused() {
        let part = |content, media_type: Option<&str>| Part {
            media_type: media_type.map(str::to_owned),
            ..Part::new(content)
        };
        let raw = || Content::Raw(vec![1]);
        for (part, fine) in [
            (part(Content::Text("x".to_owned()), Some("text/x-odd")), true),
            (part(raw(), Some("text/Markdown; charset=utf-8")), true),
            (part(raw(), Some("application/json")), true),
            (part(raw(), None), true),
            (part(Content::Data(serde_json::json!({})), None), true),
            (part(raw(), Some("video/mp4")), false),
            (part(Content::Url("https://x".to_owned()), Some("image/png")), false),
        ] {
            let message = Message { parts: vec![part.clone()], ..message("m", Role::User, "") };
            let found = check_parts(&message, &["text/*", "application/json"]);
            assert_eq!(found.is_ok(), fine, "{part:?}");
        }
        let video =
            Message { parts: vec![part(raw(), Some("video/mp4"))], ..message("m", Role::User, "") };
        assert!(check_parts(&video, &["*/*"]).is_ok());
    }

    #[test]
    fn only_clients_of_0_1_name_new_tasks() {
        let named = Message { task: Some("t".parse().unwrap()), ..message("m", Role::User, "") };
        let task = "t".parse::<crate::ids::TaskId>().unwrap();
        assert_eq!(target(&named, Version::V0_1), Target::Named(task.clone()));
        assert_eq!(target(&named, Version::V1_0), Target::Existing(task));
        assert_eq!(target(&message("m", Role::User, ""), Version::V0_3), Target::New);
    }
}
