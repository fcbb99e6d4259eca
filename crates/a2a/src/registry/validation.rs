//! What is wrong with a card, before it is taken into the catalogue.

use std::collections::BTreeSet;

use crate::model::{AgentCard, Interface, Skill};
use crate::version::Version;

/// Something wrong with a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub severity: Severity,
    /// Where, in the words of 1.0.
    pub field: String,
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The card is taken.
    Advice,
    /// The card is refused.
    Error,
}

/// Finds what is wrong with a card. It is taken if nothing is an error.
#[must_use]
pub fn faults(card: &AgentCard) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    for (field, text) in [("name", &card.name), ("version", &card.version)] {
        faults.require(!text.trim().is_empty(), field, "is not empty");
    }
    faults.advise(!card.description.trim().is_empty(), "description", "says what the agent does");
    faults.require(
        !card.interfaces.is_empty(),
        "supportedInterfaces",
        "has at least one interface",
    );
    for (index, interface) in card.interfaces.iter().enumerate() {
        check_interface(interface, &format!("supportedInterfaces[{index}]"), &mut faults);
    }
    for (field, url) in [("documentationUrl", &card.documentation_url), ("iconUrl", &card.icon_url)]
    {
        let fine = url.as_deref().is_none_or(|url| is_web_address(url) && !has_credentials(url));
        faults.require(fine, field, "is an http or https URL without credentials");
    }
    check_modes(&card.default_input_modes, "defaultInputModes", &mut faults);
    check_modes(&card.default_output_modes, "defaultOutputModes", &mut faults);
    faults.require(!card.skills.is_empty(), "skills", "has at least one skill");
    let mut seen = BTreeSet::new();
    for (index, skill) in card.skills.iter().enumerate() {
        let place = format!("skills[{index}]");
        faults.require(
            seen.insert(skill.id.as_str()),
            &format!("{place}.id"),
            "is unique in the card",
        );
        check_skill(skill, &place, card, &mut faults);
    }
    check_requirements(&card.security, "securityRequirements", card, &mut faults);
    faults.0
}

struct Faults(Vec<Fault>);

impl Faults {
    fn require(&mut self, fine: bool, field: &str, description: &str) {
        self.add(fine, Severity::Error, field, description);
    }

    fn advise(&mut self, fine: bool, field: &str, description: &str) {
        self.add(fine, Severity::Advice, field, description);
    }

    fn add(&mut self, fine: bool, severity: Severity, field: &str, description: &str) {
        if !fine {
            self.0.push(Fault {
                severity,
                field: field.to_owned(),
                description: description.to_owned(),
            });
        }
    }
}

fn check_interface(interface: &Interface, place: &str, faults: &mut Faults) {
    let url = interface.url.as_str();
    let field = format!("{place}.url");
    let is_address = match interface.binding.as_str() {
        // A gRPC target is a host and a port, though some write a URL.
        "GRPC" => is_web_address(url) || is_host_and_port(url),
        _ => is_web_address(url),
    };
    faults.require(
        is_address,
        &field,
        "is an absolute http or https URL (for gRPC: host and port)",
    );
    faults.require(
        !has_credentials(url),
        &field,
        "holds no credentials: everybody who sees the card would have them",
    );
    let is_safe = !url.starts_with("http://") || is_loopback(url);
    faults.advise(is_safe, &field, "is an https URL in production");
    let version = interface.version.as_deref();
    let readable = version.is_none_or(|version| Version::read(version).is_some());
    faults.advise(
        readable,
        &format!("{place}.protocolVersion"),
        "is a version that is spoken here: 0.1 to 1.0",
    );
    faults.require(
        !interface.binding.is_empty(),
        &format!("{place}.protocolBinding"),
        "is not empty",
    );
}

fn check_skill(skill: &Skill, place: &str, card: &AgentCard, faults: &mut Faults) {
    faults.require(!skill.id.trim().is_empty(), &format!("{place}.id"), "is not empty");
    faults.require(!skill.name.trim().is_empty(), &format!("{place}.name"), "is not empty");
    faults.advise(
        !skill.description.trim().is_empty(),
        &format!("{place}.description"),
        "says what the skill does",
    );
    faults.advise(!skill.tags.is_empty(), &format!("{place}.tags"), "has at least one tag");
    if !skill.input_modes.is_empty() {
        check_modes(&skill.input_modes, &format!("{place}.inputModes"), faults);
    }
    if !skill.output_modes.is_empty() {
        check_modes(&skill.output_modes, &format!("{place}.outputModes"), faults);
    }
    check_requirements(&skill.security, &format!("{place}.securityRequirements"), card, faults);
}

fn check_modes(modes: &[String], field: &str, faults: &mut Faults) {
    faults.advise(!modes.is_empty(), field, "has at least one media type");
    // Old cards say `text`; they are taken, but a client cannot match it.
    let fine = modes.iter().all(|mode| is_media_type(mode));
    faults.advise(fine, field, "has media types such as text/plain");
}

fn check_requirements(
    requirements: &[crate::model::SecurityRequirement],
    field: &str,
    card: &AgentCard,
    faults: &mut Faults,
) {
    let mut named = requirements.iter().flat_map(|requirement| requirement.keys());
    let fine = named.all(|name| card.security_schemes.contains_key(name));
    faults.require(fine, field, "names schemes that the card describes");
}

fn is_media_type(text: &str) -> bool {
    let legal = |part: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-*".contains(&byte);
        !part.is_empty() && part.bytes().all(legal)
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(kind, subtype)| legal(kind) && legal(subtype))
}

fn authority(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    rest.split(['/', '?', '#']).next()
}

fn is_web_address(url: &str) -> bool {
    let legal =
        |text: &str| !text.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    authority(url).is_some_and(|authority| !authority.is_empty()) && legal(url)
}

fn has_credentials(url: &str) -> bool {
    authority(url).is_some_and(|authority| authority.contains('@'))
}

fn is_loopback(url: &str) -> bool {
    let host = authority(url).unwrap_or_default();
    let host = host.strip_prefix("[::1]").map_or(host, |_| "localhost");
    let host = host.split(':').next().unwrap_or_default();
    host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.")
}

fn is_host_and_port(text: &str) -> bool {
    let legal = |letter: char| letter.is_alphanumeric() || ".-[]:".contains(letter);
    let port =
        text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    port.is_some_and(|(host, _)| !host.is_empty() && host.chars().all(legal))
}
