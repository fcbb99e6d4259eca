//! Prints the schema of the agents' messages: `cargo run -p agent --example agent_message_schema > schemas/agent-message.json`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    let schema = agent::research::message::schema();
    writeln!(std::io::stdout(), "{schema:#}")
}
