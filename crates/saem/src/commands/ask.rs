//! `saem ask` and `saem chat`: questions, and answers as they come.

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use agent::memory::SessionId;
use agent::tools::attachment;
use anyhow::{Context, Result, bail};
use engine::chat::QUESTION_BYTES_MAX;
use indicatif::ProgressBar;
use server::api::wire::chat::{CitationBody, DoingBody, TurnBody};

use crate::args;
use crate::backend::tools::Asked;
use crate::backend::{Answering, Backend, LocalChat, Told};
use crate::config::Config;
use crate::input::Input;
use crate::output::Output;
use crate::terminal::Terminal;

/// Waited for a memory to be rewritten before the command ends; the next one goes on with it.
const REMEMBER_WAIT_MAX: Duration = Duration::from_secs(60);

/// Words of a conversation that are commands.
const HELP: &str = "/new begins another conversation · /memory shows what is remembered · @server:uri attaches a resource · /server:prompt runs a prompt · /quit ends · Ctrl-C stops an answer, or ends";

/// Asks one question.
pub(crate) async fn ask(config: Config, ask: args::Ask, output: &Output) -> Result<ExitCode> {
    let question = match ask.words.as_slice() {
        [] => read_input()?,
        [one] if one == "-" => read_input()?,
        words => words.join(" "),
    };
    let session = read_session(ask.session.as_deref())?;
    let backend = open(&config, output).await?;
    let waiting = output.waiting("searching");
    let asked = at_hand(&waiting);
    let (question, attach) = attachment::read(&question);
    let answering = backend.ask(question, attach, session.as_ref(), &asked).await?;
    let show = Show { waiting, notes: Notes::Shown, explain: ask.explain };
    let turn = follow(&backend, answering, output, &asked, show).await?;
    finish(backend, output).await;
    let Some(turn) = turn else { return Ok(ExitCode::from(130)) };
    output.line(&format!("\nAsk on with: saem ask --session {} …", turn.session))?;
    Ok(if turn.outcome == "incomplete" { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Asks until there is nothing more to ask.
pub(crate) async fn chat(config: Config, chat: args::Chat, output: &Output) -> Result<ExitCode> {
    let mut session = read_session(chat.session.as_deref())?;
    let backend = open(&config, output).await?;
    let is_person = std::io::stdin().is_terminal();
    if is_person {
        output.line(HELP)?;
    }
    let mut notes = Notes::Shown;
    let input = Input::standard()?;
    while let Some(line) = next_line(input, is_person).await? {
        match line.trim() {
            "" => continue,
            "/quit" | "/exit" => break,
            "/help" => output.line(HELP)?,
            "/new" => session = None,
            "/memory" => match &session {
                Some(id) => super::sessions::show_memory(&backend, id, output).await?,
                None => output.line("nothing was said yet")?,
            },
            question => {
                let waiting = output.waiting("searching");
                let asked = at_hand(&waiting);
                let (question, attach) = attachment::read(question);
                let taken = backend.ask(question, attach, session.as_ref(), &asked).await;
                let answering = match taken {
                    Ok(answering) => answering,
                    Err(error) if is_person => {
                        waiting.finish_and_clear();
                        output.line(&format!("{error:#}"))?;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let show = Show { waiting, notes, explain: chat.explain };
                let followed = follow(&backend, answering, output, &asked, show).await?;
                if let Some(turn) = followed {
                    session = Some(turn.session.parse()?);
                    notes = Notes::Hidden;
                }
            }
        }
    }
    finish(backend, output).await;
    if let Some(session) = session {
        output.line(&format!("Go on later with: saem chat --session {session}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn open(config: &Config, output: &Output) -> Result<Backend<LocalChat>> {
    let backend = Backend::chat(config).await?;
    if let Err(error) = output.while_indexing(backend.settle()).await {
        output.line(&format!("note: some documents cannot be found yet: {error:#}"))?;
    }
    Ok(backend)
}

/// Lets what was said be remembered, for a while, and closes.
async fn finish(backend: Backend<LocalChat>, output: &Output) {
    let waiting = output.waiting("remembering");
    let _late = tokio::time::timeout(REMEMBER_WAIT_MAX, backend.remembered()).await;
    waiting.finish_and_clear();
    backend.close().await;
}

/// Whether notes are shown: what is the same each time is said once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notes {
    Shown,
    Hidden,
}

/// How a turn is shown.
struct Show {
    waiting: ProgressBar,
    notes: Notes,
    explain: bool,
}

/// The person at this terminal, if there is one; a question takes the place of what shows that something is awaited.
fn at_hand(waiting: &ProgressBar) -> Asked {
    let (person, attendance) = crate::person::at_hand(false);
    Asked { person: crate::person::interrupting(person, waiting), attendance }
}

/// Shows an answer as it comes; none if it was stopped.
async fn follow(
    backend: &Backend<LocalChat>,
    mut answering: Answering,
    output: &Output,
    asked: &Asked,
    show: Show,
) -> Result<Option<TurnBody>> {
    let mut terminal = Terminal::new();
    let Show { waiting, notes, explain } = show;
    let mut has_text = false;
    let turn = loop {
        let told = tokio::select! {
            told = next_told(backend, &mut answering, asked) => told?,
            stopped = tokio::signal::ctrl_c() => {
                stopped?;
                waiting.finish_and_clear();
                output.line("\n(stopped; what was said is kept)")?;
                return Ok(None);
            }
        };
        match told {
            Some(Told::Doing(doing)) => say(&waiting, &doing),
            Some(Told::Text(text)) => {
                waiting.finish_and_clear();
                has_text = true;
                output.piece(&mut terminal, &text)?;
            }
            Some(Told::Done(turn)) => break turn,
            None => bail!("the answer broke off: ask again"),
        }
    };
    waiting.finish_and_clear();
    output.json(&turn)?;
    if has_text {
        output.end(&mut terminal)?;
    }
    show_sources(&turn, output, &terminal)?;
    if turn.outcome == "incomplete" {
        output.line("The answer broke off: it is not complete.")?;
    }
    let news = turn.notes.iter().filter(|_| notes == Notes::Shown || !turn.persisted);
    for note in news {
        output.aside(&terminal, &format!("\nnote: {note}"))?;
    }
    if explain {
        explained(&turn, output)?;
    }
    Ok(Some(*turn))
}

/// What happens next; questions that wait for the person here are asked before.
async fn next_told(
    backend: &Backend<LocalChat>,
    answering: &mut Answering,
    asked: &Asked,
) -> Result<Option<Told>> {
    loop {
        match answering.next().await? {
            Some(Told::Doing(DoingBody::AwaitingApproval { session, .. })) => {
                backend.settle_questions(&session, asked).await?;
            }
            told => return Ok(told),
        }
    }
}

fn say(waiting: &ProgressBar, doing: &DoingBody) {
    waiting.set_message(match doing {
        DoingBody::Searching { query } => format!("searching: {query}"),
        DoingBody::Judging { passages } => format!("judging {passages} passages"),
        DoingBody::Reading { title } => format!("reading on in {title}"),
        DoingBody::Answering => "answering".to_owned(),
        DoingBody::CallingTools { names } => format!("calling {}", names.join(", ")),
        DoingBody::AwaitingApproval { server, .. } => format!("{server} waits for an approval"),
    });
}

fn show_sources(turn: &TurnBody, output: &Output, terminal: &Terminal) -> Result<()> {
    if turn.citations.is_empty() {
        return Ok(());
    }
    output.line("")?;
    for CitationBody { number, heading_path, source, section, .. } in &turn.citations {
        let path = heading_path.join(" › ");
        output.aside(terminal, &format!("[{number}] {path} · {source} · section {section}"))?;
    }
    Ok(())
}

/// How the answer came about.
fn explained(turn: &TurnBody, output: &Output) -> Result<()> {
    output
        .line(&format!("\nturn {} · {} · {} ms", turn.id, turn.outcome, turn.took_milliseconds))?;
    for done in &turn.done {
        output.line(&format!("  {done}"))?;
    }
    for (number, passage) in (1..).zip(&turn.passages) {
        output.line(&format!(
            "  passage {number}: {:.4} {} ({})",
            passage.score, passage.title, passage.section
        ))?;
    }
    for part in &turn.context {
        let left_out =
            if part.tokens < part.wanted { format!(" of {}", part.wanted) } else { String::new() };
        output.line(&format!(
            "  read: {} {} · {}{left_out} tokens",
            part.kind, part.source, part.tokens
        ))?;
    }
    for call in &turn.calls {
        let cost = call.cost.map_or("price unknown".to_owned(), |cost| format!("${cost:.6}"));
        let failed = call.failed.as_ref().map(|why| format!(" · {why}")).unwrap_or_default();
        output.line(&format!(
            "  {} by {}: {} tokens in, {} out · {cost} · {} ms{failed}",
            call.component, call.model, call.tokens_in, call.tokens_out, call.took_milliseconds
        ))?;
    }
    Ok(())
}

fn read_session(name: Option<&str>) -> Result<Option<SessionId>> {
    Ok(name.map(str::parse).transpose()?)
}

fn read_input() -> Result<String> {
    let mut bytes = Vec::new();
    // One more than allowed: then it is told how long it may be.
    let most = QUESTION_BYTES_MAX as u64 + 1;
    std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).context("the question is not UTF-8 text")
}

/// The next line; none at the end of the input, or when somebody wants to leave.
async fn next_line(input: &Input, is_person: bool) -> Result<Option<String>> {
    if is_person {
        write!(std::io::stderr(), "\n› ")?;
        std::io::stderr().flush()?;
    }
    tokio::select! {
        line = input.next() => {
            let line = line?.map(String::from_utf8).transpose();
            line.context("the question is not UTF-8 text")
        }
        stopped = tokio::signal::ctrl_c() => {
            stopped?;
            Ok(None)
        }
    }
}
