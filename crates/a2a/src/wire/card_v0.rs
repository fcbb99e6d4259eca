//! Cards as 0.1, 0.2 and 0.3 write them.

use serde_json::{Map, Value, json};

use super::card_v1_0::{
    described, location, location_name, read_extension, read_flows, read_provider, read_signature,
    write_extension, write_flow, write_provider, write_signature,
};
use crate::fields::{Fields, Notation, Read, Writer};
use crate::limits::{
    CARD_ITEMS_MAX, DESCRIPTION_BYTES_MAX, NAME_BYTES_MAX, NAMES_MAX, SCOPES_MAX, SECRET_BYTES_MAX,
    SKILLS_MAX, URL_BYTES_MAX,
};
use crate::model::{
    AgentCard, Capabilities, Interface, LegacyAuthentication, OAuthFlowKind, SecurityRequirement,
    SecurityScheme, SecuritySchemeKind, Skill,
};
use crate::version::Version;

/// What is spoken where a card does not say.
const TRANSPORT_DEFAULT: &str = "JSONRPC";

/// Reads any of them: what a later one adds is optional.
pub(crate) fn read(fields: &Fields<'_>) -> Read<AgentCard> {
    Ok(AgentCard {
        name: fields.required_text("name", NAME_BYTES_MAX)?,
        description: fields.text("description", DESCRIPTION_BYTES_MAX)?.unwrap_or_default(),
        version: fields.text("version", NAME_BYTES_MAX)?.unwrap_or_default(),
        interfaces: read_interfaces(fields)?,
        provider: fields.nested("provider", read_provider)?,
        documentation_url: fields.text("documentationUrl", URL_BYTES_MAX)?,
        icon_url: fields.text("iconUrl", URL_BYTES_MAX)?,
        capabilities: read_capabilities(fields)?,
        security_schemes: fields.entries("securitySchemes", CARD_ITEMS_MAX, |value, at| {
            read_scheme(&Fields::of(value, at, Notation::Plain)?)
        })?,
        security: read_security(fields)?,
        default_input_modes: fields.texts("defaultInputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        default_output_modes: fields.texts("defaultOutputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        skills: fields.list("skills", SKILLS_MAX, read_skill)?,
        signatures: fields.list("signatures", CARD_ITEMS_MAX, read_signature)?,
        legacy_authentication: fields.nested("authentication", read_authentication)?,
    })
}

fn read_interfaces(fields: &Fields<'_>) -> Read<Vec<Interface>> {
    let version = fields.text("protocolVersion", NAME_BYTES_MAX)?;
    let transport = fields.text("preferredTransport", URL_BYTES_MAX)?;
    let mut interfaces = vec![Interface {
        url: fields.required_text("url", URL_BYTES_MAX)?,
        binding: transport.unwrap_or_else(|| TRANSPORT_DEFAULT.to_owned()),
        version: version.clone(),
        tenant: None,
    }];
    interfaces.extend(fields.list("additionalInterfaces", CARD_ITEMS_MAX, |interface| {
        Ok(Interface {
            url: interface.required_text("url", URL_BYTES_MAX)?,
            binding: interface.required_text("transport", URL_BYTES_MAX)?,
            version: version.clone(),
            tenant: None,
        })
    })?);
    Ok(interfaces)
}

fn read_capabilities(fields: &Fields<'_>) -> Read<Capabilities> {
    let capabilities = fields.nested("capabilities", |fields| {
        Ok(Capabilities {
            streaming: fields.boolean("streaming")?,
            push_notifications: fields.boolean("pushNotifications")?,
            extended_card: None,
            state_transition_history: fields.boolean("stateTransitionHistory")?,
            extensions: fields.list("extensions", NAMES_MAX, read_extension)?,
        })
    })?;
    let extended_card = fields.boolean("supportsAuthenticatedExtendedCard")?;
    Ok(Capabilities { extended_card, ..capabilities.unwrap_or_default() })
}

fn read_security(fields: &Fields<'_>) -> Read<Vec<SecurityRequirement>> {
    fields.items("security", CARD_ITEMS_MAX, |value, at| {
        // A requirement is a map itself, so it is read as the only field of an object.
        let wrapped = json!({ "security": value });
        let fields = Fields::of(&wrapped, at, Notation::Plain)?;
        fields.entries("security", CARD_ITEMS_MAX, |scopes, at| {
            let wrapped = json!({ "scopes": scopes });
            Fields::of(&wrapped, at, Notation::Plain)?.texts("scopes", SCOPES_MAX, NAME_BYTES_MAX)
        })
    })
}

fn read_skill(fields: &Fields<'_>) -> Read<Skill> {
    Ok(Skill {
        id: fields.required_text("id", NAME_BYTES_MAX)?,
        name: fields.required_text("name", NAME_BYTES_MAX)?,
        description: fields.text("description", DESCRIPTION_BYTES_MAX)?.unwrap_or_default(),
        tags: fields.texts("tags", NAMES_MAX, NAME_BYTES_MAX)?,
        examples: fields.texts("examples", NAMES_MAX, DESCRIPTION_BYTES_MAX)?,
        input_modes: fields.texts("inputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        output_modes: fields.texts("outputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        security: read_security(fields)?,
    })
}

fn read_authentication(fields: &Fields<'_>) -> Read<LegacyAuthentication> {
    // The oldest sample writes one scheme without its list.
    let schemes = match fields.get("schemes") {
        Some(Value::String(_)) => vec![fields.required_text("schemes", NAME_BYTES_MAX)?],
        _ => fields.texts("schemes", CARD_ITEMS_MAX, NAME_BYTES_MAX)?,
    };
    let credentials = fields.text("credentials", SECRET_BYTES_MAX)?;
    Ok(LegacyAuthentication { schemes, credentials })
}

fn read_scheme(fields: &Fields<'_>) -> Read<SecurityScheme> {
    let kind = match fields.required_text("type", NAME_BYTES_MAX)?.as_str() {
        "apiKey" => SecuritySchemeKind::ApiKey {
            location: location(fields, "in")?,
            name: fields.required_text("name", NAME_BYTES_MAX)?,
        },
        "http" => SecuritySchemeKind::Http {
            scheme: fields.required_text("scheme", NAME_BYTES_MAX)?,
            bearer_format: fields.text("bearerFormat", NAME_BYTES_MAX)?,
        },
        "oauth2" => SecuritySchemeKind::OAuth2 {
            flows: fields.required("flows", read_flows)?,
            metadata_url: fields.text("oauth2MetadataUrl", URL_BYTES_MAX)?,
        },
        "openIdConnect" => SecuritySchemeKind::OpenIdConnect {
            url: fields.required_text("openIdConnectUrl", URL_BYTES_MAX)?,
        },
        "mutualTLS" => SecuritySchemeKind::MutualTls,
        _ => {
            let rule = "is apiKey, http, oauth2, openIdConnect or mutualTLS";
            return Err(fields.wrong("type", rule));
        }
    };
    described(fields, kind)
}

/// What 0.2 added to 0.1 is left out.
pub(crate) fn write_v0_1(card: &AgentCard) -> Value {
    let mut writer = Writer::default();
    let capabilities = Writer::default()
        .some("streaming", card.capabilities.streaming)
        .some("pushNotifications", card.capabilities.push_notifications)
        .some("stateTransitionHistory", card.capabilities.state_transition_history)
        .done();
    let main = interfaces(card, Version::V0_1);
    let main = main.first();
    writer
        .put("name", card.name.as_str())
        .some("description", Some(card.description.as_str()).filter(|text| !text.is_empty()))
        .put("url", main.map_or("", |interface| interface.url.as_str()))
        .some("provider", card.provider.as_ref().map(write_provider))
        .put("version", card.version.as_str())
        .some("documentationUrl", card.documentation_url.clone())
        .put("capabilities", capabilities)
        .some("authentication", authentication(card))
        .texts("defaultInputModes", &card.default_input_modes)
        .texts("defaultOutputModes", &card.default_output_modes)
        .put(
            "skills",
            card.skills.iter().map(|skill| write_skill(skill, Version::V0_1)).collect::<Vec<_>>(),
        )
        .done()
}

pub(crate) fn write_v0_2(card: &AgentCard) -> Value {
    write_since_v0_2(card, Version::V0_2)
}

pub(crate) fn write_v0_3(card: &AgentCard) -> Value {
    write_since_v0_2(card, Version::V0_3)
}

fn write_since_v0_2(card: &AgentCard, version: Version) -> Value {
    let mut writer = Writer::default();
    let interfaces = interfaces(card, version);
    if let Some((main, others)) = interfaces.split_first() {
        writer
            .put("url", main.url.as_str())
            .put("preferredTransport", main.binding.as_str())
            .some("protocolVersion", main.version.as_deref().map(full))
            .list(
                "additionalInterfaces",
                others,
                |other| json!({ "url": other.url, "transport": other.binding }),
            );
    }
    let kept = |scheme: &SecurityScheme| {
        version == Version::V0_3 || scheme.kind != SecuritySchemeKind::MutualTls
    };
    let schemes = card.security_schemes.iter().filter(|(_, scheme)| kept(scheme));
    let schemes: Map<_, _> =
        schemes.map(|(name, scheme)| (name.clone(), write_scheme(scheme, version))).collect();
    // A requirement that names a scheme which the version cannot describe could not be met.
    let security =
        card.security.iter().filter(|all| all.keys().all(|name| schemes.contains_key(name)));
    let security: Vec<Value> = security.map(|requirement| json!(requirement)).collect();
    writer
        .put("name", card.name.as_str())
        .put("description", card.description.as_str())
        .some("provider", card.provider.as_ref().map(write_provider))
        .put("version", card.version.as_str())
        .some("documentationUrl", card.documentation_url.clone())
        .some("iconUrl", card.icon_url.clone())
        .put("capabilities", write_capabilities(card))
        .some("supportsAuthenticatedExtendedCard", card.capabilities.extended_card)
        .list("security", &security, Clone::clone)
        .put("defaultInputModes", card.default_input_modes.clone())
        .put("defaultOutputModes", card.default_output_modes.clone())
        .put(
            "skills",
            card.skills.iter().map(|skill| write_skill(skill, version)).collect::<Vec<_>>(),
        );
    if !schemes.is_empty() {
        writer.put("securitySchemes", schemes);
    }
    if version == Version::V0_3 {
        writer.list("signatures", &card.signatures, write_signature);
    }
    writer.done()
}

/// The interfaces that a card of a version may name. If none is of the version, 0.2 and 0.3 share theirs, and 0.1 is
/// answered wherever JSON-RPC is.
fn interfaces(card: &AgentCard, version: Version) -> Vec<Interface> {
    let speaks = |interface: &&Interface, wanted: Version| match &interface.version {
        None => true,
        Some(text) => Version::read(text) == Some(wanted),
    };
    let of = |wanted: Version| -> Vec<Interface> {
        card.interfaces.iter().filter(|interface| speaks(interface, wanted)).cloned().collect()
    };
    let of_jsonrpc = || {
        let speaks = |interface: &&Interface| interface.binding == TRANSPORT_DEFAULT;
        card.interfaces
            .iter()
            .find(speaks)
            .or(card.interfaces.first())
            .cloned()
            .into_iter()
            .collect()
    };
    let nearest: &[Version] = match version {
        Version::V0_1 => &[Version::V0_1, Version::V0_2, Version::V0_3],
        Version::V0_2 => &[Version::V0_2, Version::V0_3],
        Version::V0_3 | Version::V1_0 => &[Version::V0_3, Version::V0_2],
    };
    let found = nearest.iter().map(|wanted| of(*wanted)).find(|found| !found.is_empty());
    found.unwrap_or_else(of_jsonrpc)
}

/// Cards of 0.x write a version with its patch.
fn full(version: &str) -> String {
    match version {
        "0.2" => "0.2.6".to_owned(),
        "0.3" => "0.3.0".to_owned(),
        other => other.to_owned(),
    }
}

fn write_capabilities(card: &AgentCard) -> Value {
    let capabilities = &card.capabilities;
    Writer::default()
        .some("streaming", capabilities.streaming)
        .some("pushNotifications", capabilities.push_notifications)
        .some("stateTransitionHistory", capabilities.state_transition_history)
        .list("extensions", &capabilities.extensions, |extension| {
            write_extension(extension, extension.required)
        })
        .done()
}

fn write_skill(skill: &Skill, version: Version) -> Value {
    let mut writer = Writer::default();
    writer
        .put("id", skill.id.as_str())
        .put("name", skill.name.as_str())
        .put("description", skill.description.as_str())
        .put("tags", skill.tags.clone())
        .texts("examples", &skill.examples)
        .texts("inputModes", &skill.input_modes)
        .texts("outputModes", &skill.output_modes);
    if version == Version::V0_3 {
        writer.list("security", &skill.security, |requirement| json!(requirement));
    }
    writer.done()
}

fn write_scheme(scheme: &SecurityScheme, version: Version) -> Value {
    let mut writer = Writer::default();
    writer.some("description", scheme.description.clone());
    match &scheme.kind {
        SecuritySchemeKind::ApiKey { location, name } => writer
            .put("type", "apiKey")
            .put("in", location_name(*location))
            .put("name", name.as_str()),
        SecuritySchemeKind::Http { scheme, bearer_format } => writer
            .put("type", "http")
            .put("scheme", scheme.as_str())
            .some("bearerFormat", bearer_format.clone()),
        SecuritySchemeKind::OAuth2 { flows, metadata_url } => {
            let flows = flows.iter().filter(|flow| flow.kind != OAuthFlowKind::DeviceCode);
            let flows: Map<_, _> = flows
                .map(|flow| {
                    write_flow(&crate::model::OAuthFlow { pkce_required: false, ..flow.clone() })
                })
                .map(|(name, flow)| (name.to_owned(), flow))
                .collect();
            let metadata_url = metadata_url.clone().filter(|_| version == Version::V0_3);
            writer.put("type", "oauth2").put("flows", flows).some("oauth2MetadataUrl", metadata_url)
        }
        SecuritySchemeKind::OpenIdConnect { url } => {
            writer.put("type", "openIdConnect").put("openIdConnectUrl", url.as_str())
        }
        SecuritySchemeKind::MutualTls => writer.put("type", "mutualTLS"),
    };
    writer.done()
}

/// What 0.1 says of who may call: the names of schemes alone.
pub(crate) fn authentication(card: &AgentCard) -> Option<Value> {
    let given = card.legacy_authentication.clone();
    let authentication = given.or_else(|| {
        let mut schemes: Vec<String> = card.security_schemes.values().map(scheme_name).collect();
        schemes.sort();
        schemes.dedup();
        (!schemes.is_empty()).then_some(LegacyAuthentication { schemes, credentials: None })
    })?;
    Some(
        Writer::default()
            .put("schemes", authentication.schemes)
            .some("credentials", authentication.credentials)
            .done(),
    )
}

fn scheme_name(scheme: &SecurityScheme) -> String {
    match &scheme.kind {
        SecuritySchemeKind::ApiKey { .. } => "ApiKey".to_owned(),
        SecuritySchemeKind::Http { scheme, .. } if scheme.eq_ignore_ascii_case("bearer") => {
            "Bearer".to_owned()
        }
        SecuritySchemeKind::Http { scheme, .. } => scheme.clone(),
        SecuritySchemeKind::OAuth2 { .. } => "OAuth2".to_owned(),
        SecuritySchemeKind::OpenIdConnect { .. } => "OpenIdConnect".to_owned(),
        SecuritySchemeKind::MutualTls => "MutualTLS".to_owned(),
    }
}
