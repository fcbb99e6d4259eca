//! The person at the terminal, who is asked about tools; and somebody who has said yes before.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use agent::tools::definition::Effect;
use agent::tools::policy::{Attendance, Extent};
use agent::tools::question::{Nobody, Person, Question, Reply, defaults, form_fault};
use futures_util::future::BoxFuture;
use indicatif::ProgressBar;
use serde_json::{Map, Value};

use crate::input::Input;

/// Whom to ask, and whether there is anybody.
pub(crate) fn at_hand(says_yes: bool) -> (Arc<dyn Person>, Attendance) {
    if says_yes {
        return (Arc::new(SaidYes), Attendance::Attended);
    }
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return (Arc::new(AtTerminal), Attendance::Attended);
    }
    (Arc::new(Nobody), Attendance::Unattended)
}

/// Somebody whose questions take the place of what shows that something is awaited.
pub(crate) fn interrupting(person: Arc<dyn Person>, waiting: &ProgressBar) -> Arc<dyn Person> {
    Arc::new(Interrupting { person, waiting: waiting.clone() })
}

struct Interrupting {
    person: Arc<dyn Person>,
    waiting: ProgressBar,
}

impl Person for Interrupting {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply> {
        self.waiting.finish_and_clear();
        self.person.ask(question)
    }
}

/// Said yes on the command line, to the one call that stands there. What a server asks besides is still refused.
struct SaidYes;

impl Person for SaidYes {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply> {
        let reply = match question {
            Question::Call { .. } => Reply::Yes(Extent::Once),
            Question::Form { .. } | Question::Link { .. } | Question::Sample { .. } => Reply::No,
        };
        Box::pin(std::future::ready(reply))
    }
}

/// Reads what is asked and answers with a key.
struct AtTerminal;

impl Person for AtTerminal {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply> {
        Box::pin(async move { ask(question).await.unwrap_or(Reply::No) })
    }
}

async fn ask(question: &Question) -> std::io::Result<Reply> {
    match question {
        Question::Form { server, message, schema } => {
            say(&format!("\n{server} asks: {message}"))?;
            fill_in(schema).await
        }
        Question::Link { server, message, address, host, has_foreign_letters } => {
            say(&format!(
                "\n{server} asks you to open a page: {message}\n  {address}\n  on {host}"
            ))?;
            if *has_foreign_letters {
                say("  The name of the page is written in letters that may look like others.")?;
            }
            choose("Have you opened it and do you want to go on? [y/N] ", &[Extent::Once]).await
        }
        Question::Sample { server, prompt, tokens_max } => {
            let shown = agent::text::clip(prompt, 4_000);
            say(&format!(
                "\n{server} wants your model to answer this, with up to {tokens_max} tokens:\n{shown}"
            ))?;
            choose("Allow it? [y/N] ", &[Extent::Once]).await
        }
        Question::Call { server, tool, title, effect, arguments, extents, reasons } => {
            let title = title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
            let effect = match effect {
                Effect::Reads => "reads",
                Effect::Sends => "sends what it is given out",
                Effect::Changes => "may change something",
            };
            let arguments = serde_json::to_string_pretty(arguments).unwrap_or_default();
            say(&format!("\n{tool}{title} of {server} {effect}:\n{arguments}"))?;
            for reason in reasons {
                say(&format!("  · {reason}"))?;
            }
            let offered: Vec<&str> = extents.iter().map(|extent| key(*extent).1).collect();
            choose(&format!("Allow it? [{}/N] ", offered.join("/")), extents).await
        }
    }
}

fn key(extent: Extent) -> (char, &'static str) {
    match extent {
        Extent::Once => ('y', "y: once"),
        Extent::Session => ('s', "s: this session"),
        Extent::Always => ('a', "a: always"),
    }
}

async fn choose(prompt: &str, extents: &[Extent]) -> std::io::Result<Reply> {
    let line = line(prompt).await?;
    let pressed = line.trim().chars().next().map(|letter| letter.to_ascii_lowercase());
    let chosen = extents.iter().find(|extent| pressed == Some(key(**extent).0));
    Ok(chosen.map_or(Reply::No, |extent| Reply::Yes(*extent)))
}

/// Asks for each field; an empty line takes the default, or leaves the field out. No answer to a field ends it.
async fn fill_in(schema: &Value) -> std::io::Result<Reply> {
    let prompt = "Answer it? Never give a password away here. [y/N] ";
    if choose(prompt, &[Extent::Once]).await? == Reply::No {
        return Ok(Reply::No);
    }
    let mut values: Map<String, Value> = defaults(schema);
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, field) in &fields {
        let text = |key: &str| field.get(key).and_then(Value::as_str).unwrap_or_default();
        let choices = field.get("enum").map(|of| format!(" {of}")).unwrap_or_default();
        let default = values.get(name).map(|of| format!(" [{of}]")).unwrap_or_default();
        let about = agent::tools::suspicion::clean(text("description"));
        let given = line(&format!("  {name}{choices}{default} {about}: ")).await?;
        let given = given.trim();
        if !given.is_empty() {
            values.insert(name.clone(), typed(given, text("type")));
        }
    }
    match form_fault(schema, &values) {
        Some(fault) => {
            say(&format!("That cannot be sent: {fault}."))?;
            Ok(Reply::No)
        }
        None => Ok(Reply::Filled(values)),
    }
}

/// What was typed, as a value of the kind that is wanted.
fn typed(text: &str, kind: &str) -> Value {
    match kind {
        "string" | "" => Value::from(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

fn say(text: &str) -> std::io::Result<()> {
    // What a server wrote must not steer the terminal.
    let shown = agent::tools::suspicion::clean(text);
    writeln!(std::io::stderr(), "{shown}")
}

async fn line(prompt: &str) -> std::io::Result<String> {
    let mut errors = std::io::stderr();
    write!(errors, "{prompt}")?;
    errors.flush()?;
    let bytes = Input::standard()?.next().await?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
