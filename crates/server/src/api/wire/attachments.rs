//! What is put beside a question, as it goes over the wire.

use agent::tools::attachment::Attachment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something of a server of tools: either a resource or a prompt.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachBody {
    /// The server's name.
    pub server: String,
    /// The resource's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The prompt's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the prompt is given.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

impl AttachBody {
    /// The attachment, if it is one.
    #[must_use]
    pub fn read(self) -> Option<Attachment> {
        let server = self.server.parse().ok()?;
        match (self.uri, self.prompt) {
            (Some(address), None) => Some(Attachment::Resource { server, address }),
            (None, Some(name)) => {
                Some(Attachment::Prompt { server, name, arguments: self.arguments })
            }
            _ => None,
        }
    }
}

impl From<Attachment> for AttachBody {
    fn from(attachment: Attachment) -> Self {
        let server = attachment.server().to_string();
        let (uri, prompt, arguments) = match attachment {
            Attachment::Resource { address, .. } => (Some(address), None, Map::new()),
            Attachment::Prompt { name, arguments, .. } => (None, Some(name), arguments),
        };
        Self { server, uri, prompt, arguments }
    }
}
