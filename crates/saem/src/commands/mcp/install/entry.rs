//! The entry itself, in the forms that clients know, and how it goes into a configuration without touching the rest.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What we are called there.
const NAME: &str = "saem";

/// How a client starts us.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// How a client writes down its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON under `mcpServers`: Claude Desktop, Cursor and most others.
    McpServers,
    /// JSON under `servers`, each with its type: VS Code.
    Servers,
    /// TOML under `mcp_servers`: Codex.
    Toml,
}

/// A configuration with the entry in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Merged {
    Same,
    Changed(String),
}

impl Form {
    /// A configuration with nothing else in it.
    pub(super) fn alone(self, entry: &Entry) -> Result<String> {
        match self {
            Self::McpServers | Self::Servers => self.json(Map::new(), entry),
            Self::Toml => table(entry),
        }
    }

    /// A configuration with the entry in it, and all else as it was.
    pub(super) fn merged(self, before: Option<&str>, entry: &Entry) -> Result<Merged> {
        let before = before.unwrap_or_default();
        match self {
            Self::McpServers | Self::Servers => self.merged_json(before, entry),
            Self::Toml => merged_toml(before, entry),
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::McpServers => "mcpServers",
            Self::Servers => "servers",
            Self::Toml => "mcp_servers",
        }
    }

    fn merged_json(self, before: &str, entry: &Entry) -> Result<Merged> {
        let whole: Value = if before.trim().is_empty() {
            json!({})
        } else {
            let without_mark = before.trim_start_matches('\u{feff}');
            serde_json::from_str(without_mark).context(
                "it is not plain JSON (comments, perhaps): put the entry there by hand, as it is printed without --write",
            )?
        };
        let Value::Object(whole) = whole else { bail!("it holds no object") };
        let text = self.json(whole.clone(), entry)?;
        let after: Value = serde_json::from_str(&text)?;
        Ok(if after == Value::Object(whole) { Merged::Same } else { Merged::Changed(text) })
    }

    fn json(self, mut whole: Map<String, Value>, entry: &Entry) -> Result<String> {
        let servers = whole.entry(self.key()).or_insert_with(|| json!({}));
        let Value::Object(servers) = servers else {
            bail!("{} is there and no object", self.key());
        };
        let ours = servers.entry(NAME).or_insert_with(|| json!({}));
        let Value::Object(ours) = ours else { bail!("{NAME} is there and no object") };
        // What somebody has added to our entry, such as an environment, stays.
        if self == Self::Servers {
            ours.insert("type".to_owned(), json!("stdio"));
        }
        ours.insert("command".to_owned(), json!(entry.command));
        ours.insert("args".to_owned(), json!(entry.args));
        Ok(format!("{}\n", serde_json::to_string_pretty(&whole)?))
    }
}

/// Put at the end, so that every line and comment before it stays as it is.
fn merged_toml(before: &str, entry: &Entry) -> Result<Merged> {
    let whole: toml::Table = before.parse().context("it is no TOML")?;
    let servers = whole.get(Form::Toml.key());
    if let Some(ours) = servers.and_then(|servers| servers.get(NAME)) {
        let is = |key: &str, value: toml::Value| ours.get(key) == Some(&value);
        let arguments = entry.args.iter().cloned().map(toml::Value::String).collect();
        if is("command", toml::Value::String(entry.command.clone()))
            && is("args", toml::Value::Array(arguments))
        {
            return Ok(Merged::Same);
        }
        bail!("it has another [mcp_servers.{NAME}]: change that by hand, or remove it first");
    }
    let gap = if before.is_empty() || before.ends_with("\n\n") {
        ""
    } else if before.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    let after = format!("{before}{gap}{}", table(entry)?);
    let read: toml::Table = after.parse().context("the entry cannot be put at its end")?;
    // All that was there is still there.
    let is_kept = whole.iter().all(|(key, value)| {
        key == Form::Toml.key() || read.get(key).is_some_and(|now| now == value)
    });
    if !is_kept {
        bail!("the entry cannot be put at its end without touching the rest");
    }
    Ok(Merged::Changed(after))
}

fn table(entry: &Entry) -> Result<String> {
    let command = toml::Value::String(entry.command.clone());
    let args = entry.args.iter().cloned().map(toml::Value::String).collect();
    Ok(format!("[mcp_servers.{NAME}]\ncommand = {command}\nargs = {}\n", toml::Value::Array(args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            command: "/bin/saem".to_owned(),
            args: vec!["mcp".to_owned(), "샘 \"물\"".to_owned()],
        }
    }

    fn changed(form: Form, before: &str) -> String {
        match form.merged(Some(before), &entry()).unwrap() {
            Merged::Changed(text) => text,
            Merged::Same => panic!("it was there already"),
        }
    }

    #[test]
    fn what_is_there_stays_and_a_second_time_changes_nothing() {
        let before = r#"{"theme": "dark", "mcpServers": {"other": {"command": "x"},
            "saem": {"command": "old", "env": {"SAEM_API_KEY": "…"}}}}"#;
        let after = changed(Form::McpServers, before);
        let value: Value = serde_json::from_str(&after).unwrap();
        assert_eq!(value["theme"], "dark");
        assert_eq!(value["mcpServers"]["other"], json!({ "command": "x" }));
        let ours = &value["mcpServers"]["saem"];
        assert_eq!(ours["command"], "/bin/saem");
        assert_eq!(ours["args"], json!(["mcp", "샘 \"물\""]));
        assert_eq!(ours["env"], json!({ "SAEM_API_KEY": "…" }));
        assert_eq!(Form::McpServers.merged(Some(&after), &entry()).unwrap(), Merged::Same);
    }

    #[test]
    fn each_client_gets_its_own_form() {
        let vscode: Value = serde_json::from_str(&changed(Form::Servers, "")).unwrap();
        assert_eq!(vscode["servers"]["saem"]["type"], "stdio");
        let codex: toml::Table = Form::Toml.alone(&entry()).unwrap().parse().unwrap();
        assert_eq!(codex["mcp_servers"]["saem"]["args"][1].as_str(), Some("샘 \"물\""));
    }

    #[test]
    fn lines_and_comments_of_toml_stay_as_they_are() {
        let before = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"";
        let after = changed(Form::Toml, before);
        assert!(after.starts_with(before), "{after}");
        assert_eq!(Form::Toml.merged(Some(&after), &entry()).unwrap(), Merged::Same);
    }

    #[test]
    fn what_cannot_be_merged_is_left_alone() {
        for (form, before) in [
            (Form::McpServers, "{ // mine\n}"),
            (Form::McpServers, "[]"),
            (Form::McpServers, r#"{"mcpServers": []}"#),
            (Form::Servers, r#"{"servers": {"saem": 1}}"#),
            (Form::Toml, "[mcp_servers.saem]\ncommand = \"other\"\n"),
            (Form::Toml, "mcp_servers = { a = { command = \"x\" } }\n"),
            (Form::Toml, "not toml"),
        ] {
            assert!(form.merged(Some(before), &entry()).is_err(), "{before}");
        }
    }
}
