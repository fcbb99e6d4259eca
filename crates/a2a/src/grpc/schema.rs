//! How a message of protobuf is described: its fields by number, with the names that ProtoJSON has for them.

/// A kind of message.
#[derive(Debug)]
pub(super) struct Shape(pub(super) &'static [Field]);

/// A field of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) many: bool,
    /// Of the fields that are so marked, a message has one; no message of ours has two such groups.
    pub(super) either: bool,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    Bytes,
    /// Bytes that are themselves base64, as the SDKs of 0.3 send files; plain bytes are understood too.
    Base64,
    Flag,
    Count,
    /// An enum, by the names of its numbers.
    Choice(&'static [&'static str]),
    Message(&'static Shape),
    /// A map from texts to messages.
    Messages(&'static Shape),
    /// A map from texts to texts.
    Texts,
    /// `google.protobuf.Struct`
    Object,
    /// `google.protobuf.Value`
    Any,
    /// `google.protobuf.Timestamp`
    Moment,
}

impl Field {
    const fn new(number: u32, name: &'static str, kind: Kind) -> Self {
        Self { number, name, kind, many: false, either: false }
    }

    const fn repeated(number: u32, name: &'static str, kind: Kind) -> Self {
        Self { many: true, ..Self::new(number, name, kind) }
    }

    /// The field as one of a group of which a message has one.
    pub(super) const fn either(self) -> Self {
        Self { either: true, ..self }
    }
}

pub(super) const fn text(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Text)
}

pub(super) const fn texts(number: u32, name: &'static str) -> Field {
    Field::repeated(number, name, Kind::Text)
}

pub(super) const fn bytes(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Bytes)
}

pub(super) const fn base64(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Base64)
}

pub(super) const fn flag(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Flag)
}

pub(super) const fn count(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Count)
}

pub(super) const fn choice(
    number: u32,
    name: &'static str,
    names: &'static [&'static str],
) -> Field {
    Field::new(number, name, Kind::Choice(names))
}

pub(super) const fn one(number: u32, name: &'static str, shape: &'static Shape) -> Field {
    Field::new(number, name, Kind::Message(shape))
}

pub(super) const fn many(number: u32, name: &'static str, shape: &'static Shape) -> Field {
    Field::repeated(number, name, Kind::Message(shape))
}

pub(super) const fn keyed(number: u32, name: &'static str, shape: &'static Shape) -> Field {
    Field::new(number, name, Kind::Messages(shape))
}

pub(super) const fn keyed_texts(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Texts)
}

pub(super) const fn object(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Object)
}

pub(super) const fn any(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Any)
}

pub(super) const fn moment(number: u32, name: &'static str) -> Field {
    Field::new(number, name, Kind::Moment)
}

pub(super) static EMPTY: Shape = Shape(&[]);

/// `google.rpc.Status`
pub(super) static STATUS: Shape =
    Shape(&[count(1, "code"), text(2, "message"), many(3, "details", &ANY)]);

static ANY: Shape = Shape(&[text(1, "typeUrl"), bytes(2, "value")]);

pub(super) static ERROR_INFO: Shape =
    Shape(&[text(1, "reason"), text(2, "domain"), keyed_texts(3, "metadata")]);

pub(super) static BAD_REQUEST: Shape = Shape(&[many(1, "fieldViolations", &VIOLATION)]);

static VIOLATION: Shape = Shape(&[text(1, "field"), text(2, "description")]);

// What both packages of A2A have alike.

pub(super) static EXTENSION: Shape =
    Shape(&[text(1, "uri"), text(2, "description"), flag(3, "required"), object(4, "params")]);

pub(super) static PROVIDER: Shape = Shape(&[text(1, "url"), text(2, "organization")]);

pub(super) static SIGNATURE: Shape =
    Shape(&[text(1, "protected"), text(2, "signature"), object(3, "header")]);

pub(super) static REQUIREMENT: Shape = Shape(&[keyed(1, "schemes", &TEXT_LIST)]);

static TEXT_LIST: Shape = Shape(&[texts(1, "list")]);

pub(super) static SCHEME: Shape = Shape(&[
    one(1, "apiKeySecurityScheme", &API_KEY).either(),
    one(2, "httpAuthSecurityScheme", &HTTP_AUTH).either(),
    one(3, "oauth2SecurityScheme", &OAUTH2).either(),
    one(4, "openIdConnectSecurityScheme", &OPEN_ID).either(),
    one(5, "mtlsSecurityScheme", &MUTUAL_TLS).either(),
]);

static API_KEY: Shape = Shape(&[text(1, "description"), text(2, "location"), text(3, "name")]);
static HTTP_AUTH: Shape =
    Shape(&[text(1, "description"), text(2, "scheme"), text(3, "bearerFormat")]);
static OAUTH2: Shape =
    Shape(&[text(1, "description"), one(2, "flows", &FLOWS), text(3, "oauth2MetadataUrl")]);
static OPEN_ID: Shape = Shape(&[text(1, "description"), text(2, "openIdConnectUrl")]);
static MUTUAL_TLS: Shape = Shape(&[text(1, "description")]);

/// The device flow is 1.0's alone; 0.3's writer has none.
static FLOWS: Shape = Shape(&[
    one(1, "authorizationCode", &AUTHORIZATION_CODE).either(),
    one(2, "clientCredentials", &TOKEN_FLOW).either(),
    one(3, "implicit", &IMPLICIT).either(),
    one(4, "password", &TOKEN_FLOW).either(),
    one(5, "deviceCode", &DEVICE_CODE).either(),
]);

static AUTHORIZATION_CODE: Shape = Shape(&[
    text(1, "authorizationUrl"),
    text(2, "tokenUrl"),
    text(3, "refreshUrl"),
    keyed_texts(4, "scopes"),
    flag(5, "pkceRequired"),
]);

static TOKEN_FLOW: Shape =
    Shape(&[text(1, "tokenUrl"), text(2, "refreshUrl"), keyed_texts(3, "scopes")]);

static IMPLICIT: Shape =
    Shape(&[text(1, "authorizationUrl"), text(2, "refreshUrl"), keyed_texts(3, "scopes")]);

static DEVICE_CODE: Shape = Shape(&[
    text(1, "deviceAuthorizationUrl"),
    text(2, "tokenUrl"),
    text(3, "refreshUrl"),
    keyed_texts(4, "scopes"),
]);
