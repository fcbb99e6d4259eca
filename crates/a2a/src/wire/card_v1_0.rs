//! Cards as 1.0 writes them.

use serde_json::{Value, json};

use crate::fields::{At, Fields, Read, Writer};
use crate::limits::{
    CARD_ITEMS_MAX, DESCRIPTION_BYTES_MAX, NAME_BYTES_MAX, NAMES_MAX, SCOPES_MAX, SECRET_BYTES_MAX,
    SKILLS_MAX, URL_BYTES_MAX,
};
use crate::model::{
    AgentCard, ApiKeyLocation, Capabilities, CardSignature, Extension, Interface, OAuthFlow,
    OAuthFlowKind, Provider, SecurityRequirement, SecurityScheme, SecuritySchemeKind, Skill,
};

pub(crate) fn read(fields: &Fields<'_>) -> Read<AgentCard> {
    Ok(AgentCard {
        name: fields.required_text("name", NAME_BYTES_MAX)?,
        // Required, but often missing, and no reason not to talk to the agent: the catalogue's validation tells.
        description: fields.text("description", DESCRIPTION_BYTES_MAX)?.unwrap_or_default(),
        version: fields.text("version", NAME_BYTES_MAX)?.unwrap_or_default(),
        interfaces: fields.list("supportedInterfaces", CARD_ITEMS_MAX, read_interface)?,
        provider: fields.nested("provider", read_provider)?,
        documentation_url: fields.text("documentationUrl", URL_BYTES_MAX)?,
        icon_url: fields.text("iconUrl", URL_BYTES_MAX)?,
        capabilities: fields.nested("capabilities", read_capabilities)?.unwrap_or_default(),
        security_schemes: fields.entries("securitySchemes", CARD_ITEMS_MAX, |value, at| {
            read_scheme(&Fields::of(value, at, crate::fields::Notation::Proto)?)
        })?,
        security: fields.list("securityRequirements", CARD_ITEMS_MAX, read_requirement)?,
        default_input_modes: fields.texts("defaultInputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        default_output_modes: fields.texts("defaultOutputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        skills: fields.list("skills", SKILLS_MAX, read_skill)?,
        signatures: fields.list("signatures", CARD_ITEMS_MAX, read_signature)?,
        legacy_authentication: None,
    })
}

pub(crate) fn write(card: &AgentCard) -> Value {
    Writer::default()
        .put("name", card.name.as_str())
        .put("description", card.description.as_str())
        .put("supportedInterfaces", card.interfaces.iter().map(write_interface).collect::<Vec<_>>())
        .some("provider", card.provider.as_ref().map(write_provider))
        .put("version", card.version.as_str())
        .some("documentationUrl", card.documentation_url.clone())
        .put("capabilities", write_capabilities(&card.capabilities))
        .some("securitySchemes", schemes(card))
        .list("securityRequirements", &card.security, write_requirement)
        .put("defaultInputModes", card.default_input_modes.clone())
        .put("defaultOutputModes", card.default_output_modes.clone())
        .put("skills", card.skills.iter().map(write_skill).collect::<Vec<_>>())
        .list("signatures", &card.signatures, write_signature)
        .some("iconUrl", card.icon_url.clone())
        .done()
}

fn schemes(card: &AgentCard) -> Option<Value> {
    let schemes = card.security_schemes.iter();
    let schemes: serde_json::Map<_, _> =
        schemes.map(|(name, scheme)| (name.clone(), write_scheme(scheme))).collect();
    (!schemes.is_empty()).then_some(Value::Object(schemes))
}

fn read_interface(fields: &Fields<'_>) -> Read<Interface> {
    Ok(Interface {
        url: fields.required_text("url", URL_BYTES_MAX)?,
        binding: fields.required_text("protocolBinding", URL_BYTES_MAX)?,
        version: Some(fields.required_text("protocolVersion", NAME_BYTES_MAX)?),
        tenant: fields.text("tenant", NAME_BYTES_MAX)?,
    })
}

fn write_interface(interface: &Interface) -> Value {
    Writer::default()
        .put("url", interface.url.as_str())
        .put("protocolBinding", interface.binding.as_str())
        .some("tenant", interface.tenant.clone())
        .put("protocolVersion", interface.version.as_deref().unwrap_or("0.3"))
        .done()
}

pub(super) fn read_provider(fields: &Fields<'_>) -> Read<Provider> {
    Ok(Provider {
        organization: fields.required_text("organization", NAME_BYTES_MAX)?,
        url: fields.text("url", URL_BYTES_MAX)?.unwrap_or_default(),
    })
}

pub(super) fn write_provider(provider: &Provider) -> Value {
    json!({ "organization": provider.organization, "url": provider.url })
}

fn read_capabilities(fields: &Fields<'_>) -> Read<Capabilities> {
    Ok(Capabilities {
        streaming: fields.boolean("streaming")?,
        push_notifications: fields.boolean("pushNotifications")?,
        extended_card: fields.boolean("extendedAgentCard")?,
        state_transition_history: None,
        extensions: fields.list("extensions", NAMES_MAX, read_extension)?,
    })
}

fn write_capabilities(capabilities: &Capabilities) -> Value {
    Writer::default()
        .some("streaming", capabilities.streaming)
        .some("pushNotifications", capabilities.push_notifications)
        // Without being required, `false` is the default and is left out.
        .list("extensions", &capabilities.extensions, |extension| {
            write_extension(extension, extension.required.filter(|is| *is))
        })
        .some("extendedAgentCard", capabilities.extended_card)
        .done()
}

pub(super) fn read_extension(fields: &Fields<'_>) -> Read<Extension> {
    Ok(Extension {
        uri: fields.required_text("uri", URL_BYTES_MAX)?,
        description: fields.text("description", DESCRIPTION_BYTES_MAX)?,
        required: fields.boolean("required")?,
        params: fields.object("params")?,
    })
}

pub(super) fn write_extension(extension: &Extension, required: Option<bool>) -> Value {
    Writer::default()
        .put("uri", extension.uri.as_str())
        .some("description", extension.description.clone())
        .some("required", required)
        .some("params", extension.params.clone())
        .done()
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
        security: fields.list("securityRequirements", CARD_ITEMS_MAX, read_requirement)?,
    })
}

fn write_skill(skill: &Skill) -> Value {
    Writer::default()
        .put("id", skill.id.as_str())
        .put("name", skill.name.as_str())
        .put("description", skill.description.as_str())
        .put("tags", skill.tags.clone())
        .texts("examples", &skill.examples)
        .texts("inputModes", &skill.input_modes)
        .texts("outputModes", &skill.output_modes)
        .list("securityRequirements", &skill.security, write_requirement)
        .done()
}

fn read_requirement(fields: &Fields<'_>) -> Read<SecurityRequirement> {
    fields.entries("schemes", CARD_ITEMS_MAX, |value, at| {
        let scopes = Fields::of(value, at, crate::fields::Notation::Proto)?;
        scopes.texts("list", SCOPES_MAX, NAME_BYTES_MAX)
    })
}

fn write_requirement(requirement: &SecurityRequirement) -> Value {
    let scopes = |scopes: &Vec<String>| Writer::default().texts("list", scopes).done();
    let schemes: serde_json::Map<_, _> =
        requirement.iter().map(|(name, list)| (name.clone(), scopes(list))).collect();
    json!({ "schemes": schemes })
}

pub(super) fn read_signature(fields: &Fields<'_>) -> Read<CardSignature> {
    Ok(CardSignature {
        protected: fields.required_text("protected", SECRET_BYTES_MAX)?,
        signature: fields.required_text("signature", SECRET_BYTES_MAX)?,
        header: fields.object("header")?,
    })
}

pub(super) fn write_signature(signature: &CardSignature) -> Value {
    Writer::default()
        .put("protected", signature.protected.as_str())
        .put("signature", signature.signature.as_str())
        .some("header", signature.header.clone())
        .done()
}

fn read_scheme(fields: &Fields<'_>) -> Read<SecurityScheme> {
    let schemes = [
        fields.nested("apiKeySecurityScheme", |key| {
            let kind = SecuritySchemeKind::ApiKey {
                location: location(key, "location")?,
                name: key.required_text("name", NAME_BYTES_MAX)?,
            };
            described(key, kind)
        })?,
        fields.nested("httpAuthSecurityScheme", |http| {
            let kind = SecuritySchemeKind::Http {
                scheme: http.required_text("scheme", NAME_BYTES_MAX)?,
                bearer_format: http.text("bearerFormat", NAME_BYTES_MAX)?,
            };
            described(http, kind)
        })?,
        fields.nested("oauth2SecurityScheme", |oauth| {
            let kind = SecuritySchemeKind::OAuth2 {
                flows: oauth.nested("flows", read_flows)?.unwrap_or_default(),
                metadata_url: oauth.text("oauth2MetadataUrl", URL_BYTES_MAX)?,
            };
            described(oauth, kind)
        })?,
        fields.nested("openIdConnectSecurityScheme", |connect| {
            let url = connect.required_text("openIdConnectUrl", URL_BYTES_MAX)?;
            described(connect, SecuritySchemeKind::OpenIdConnect { url })
        })?,
        fields.nested("mtlsSecurityScheme", |tls| described(tls, SecuritySchemeKind::MutualTls))?,
    ];
    let mut found = schemes.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(scheme), None) => Ok(scheme),
        _ => Err(fields.at.wrong("has exactly one kind of security scheme")),
    }
}

pub(super) fn described(fields: &Fields<'_>, kind: SecuritySchemeKind) -> Read<SecurityScheme> {
    Ok(SecurityScheme { description: fields.text("description", DESCRIPTION_BYTES_MAX)?, kind })
}

pub(super) fn location(fields: &Fields<'_>, name: &str) -> Read<ApiKeyLocation> {
    match fields.required_text(name, NAME_BYTES_MAX)?.as_str() {
        "query" => Ok(ApiKeyLocation::Query),
        "header" => Ok(ApiKeyLocation::Header),
        "cookie" => Ok(ApiKeyLocation::Cookie),
        _ => Err(fields.wrong(name, "is query, header or cookie")),
    }
}

pub(super) fn location_name(location: ApiKeyLocation) -> &'static str {
    match location {
        ApiKeyLocation::Query => "query",
        ApiKeyLocation::Header => "header",
        ApiKeyLocation::Cookie => "cookie",
    }
}

pub(super) const FLOWS: [(OAuthFlowKind, &str); 5] = [
    (OAuthFlowKind::AuthorizationCode, "authorizationCode"),
    (OAuthFlowKind::ClientCredentials, "clientCredentials"),
    (OAuthFlowKind::Implicit, "implicit"),
    (OAuthFlowKind::Password, "password"),
    (OAuthFlowKind::DeviceCode, "deviceCode"),
];

pub(super) fn read_flows(fields: &Fields<'_>) -> Read<Vec<OAuthFlow>> {
    let mut flows = Vec::new();
    for (kind, name) in FLOWS {
        flows.extend(fields.nested(name, |flow| {
            Ok(OAuthFlow {
                kind,
                authorization_url: flow.text("authorizationUrl", URL_BYTES_MAX)?,
                device_authorization_url: flow.text("deviceAuthorizationUrl", URL_BYTES_MAX)?,
                token_url: flow.text("tokenUrl", URL_BYTES_MAX)?,
                refresh_url: flow.text("refreshUrl", URL_BYTES_MAX)?,
                scopes: flow.entries("scopes", SCOPES_MAX, |value, at: At<'_>| {
                    crate::fields::text(value, &at, DESCRIPTION_BYTES_MAX).map(str::to_owned)
                })?,
                pkce_required: flow.boolean("pkceRequired")?.unwrap_or(false),
            })
        })?);
    }
    Ok(flows)
}

pub(super) fn write_flow(flow: &OAuthFlow) -> (&'static str, Value) {
    let name = FLOWS.iter().find(|(kind, _)| *kind == flow.kind).map_or("", |(_, name)| name);
    let value = Writer::default()
        .some("authorizationUrl", flow.authorization_url.clone())
        .some("deviceAuthorizationUrl", flow.device_authorization_url.clone())
        .some("tokenUrl", flow.token_url.clone())
        .some("refreshUrl", flow.refresh_url.clone())
        .put("scopes", json!(flow.scopes))
        .flag("pkceRequired", flow.pkce_required)
        .done();
    (name, value)
}

fn write_scheme(scheme: &SecurityScheme) -> Value {
    let mut writer = Writer::default();
    writer.some("description", scheme.description.clone());
    let name = match &scheme.kind {
        SecuritySchemeKind::ApiKey { location, name } => {
            writer.put("location", location_name(*location)).put("name", name.as_str());
            "apiKeySecurityScheme"
        }
        SecuritySchemeKind::Http { scheme, bearer_format } => {
            writer.put("scheme", scheme.as_str()).some("bearerFormat", bearer_format.clone());
            "httpAuthSecurityScheme"
        }
        SecuritySchemeKind::OAuth2 { flows, metadata_url } => {
            // The message has room for one flow; the first that is not deprecated is the one to have.
            let deprecated = |flow: &&OAuthFlow| {
                matches!(flow.kind, OAuthFlowKind::Implicit | OAuthFlowKind::Password)
            };
            let flow = flows.iter().find(|flow| !deprecated(flow)).or_else(|| flows.first());
            let (name, flow) = flow.map(write_flow).unzip();
            let flows =
                name.zip(flow).map_or_else(|| json!({}), |(name, flow)| json!({ name: flow }));
            writer.put("flows", flows).some("oauth2MetadataUrl", metadata_url.clone());
            "oauth2SecurityScheme"
        }
        SecuritySchemeKind::OpenIdConnect { url } => {
            writer.put("openIdConnectUrl", url.as_str());
            "openIdConnectSecurityScheme"
        }
        SecuritySchemeKind::MutualTls => "mtlsSecurityScheme",
    };
    json!({ name: writer.done() })
}
