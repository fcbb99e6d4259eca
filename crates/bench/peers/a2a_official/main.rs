//! The agent of `bench a2a` made with the official Rust server: submitted, working, one artifact, completed; kept in memory.

use std::io::{BufRead, Write};
use std::sync::Arc;

use a2a::{
    A2AError, Artifact, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore};
use axum::serve::ListenerExt as _;
use futures::stream::{self, BoxStream, StreamExt as _};

struct Agent;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

fn status(state: TaskState) -> TaskStatus {
    TaskStatus { state, message: None, timestamp: Some(chrono::Utc::now()) }
}

fn update(context: &ExecutorContext, state: TaskState) -> StreamResponse {
    let (task_id, context_id) = context.task_info();
    let status = status(state);
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id,
        context_id,
        status,
        metadata: None,
    })
}

#[async_trait::async_trait]
impl AgentExecutor for Agent {
    fn execute(&self, context: ExecutorContext) -> Events {
        let (id, context_id) = context.task_info();
        let task = StreamResponse::Task(Task {
            id,
            context_id,
            status: status(TaskState::Submitted),
            artifacts: None,
            history: context.message.clone().map(|message| vec![message]),
            metadata: None,
        });
        let (task_id, context_id) = context.task_info();
        let artifact = StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id,
            context_id,
            artifact: Artifact {
                artifact_id: uuid::Uuid::new_v4().to_string(),
                name: Some("output".to_owned()),
                description: None,
                parts: vec![Part::text("Stream hello from TCK")],
                metadata: None,
                extensions: None,
            },
            append: None,
            last_chunk: None,
            metadata: None,
        });
        let working = update(&context, TaskState::Working);
        let completed = update(&context, TaskState::Completed);
        stream::iter([task, working, artifact, completed].map(Ok)).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> Events {
        stream::iter([Ok(update(&context, TaskState::Canceled))]).boxed()
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for _line in std::io::stdin().lock().lines() {
            let said = serde_json::json!({
                "address": address.to_string(), "path": "/", "version": "a2a-server-lf 0.5.3",
            });
            let mut output = std::io::stdout().lock();
            _ = writeln!(output, "{said}").and_then(|()| output.flush());
        }
    });
    // Else events wait for each other, 40 ms at a time.
    let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
    let handler = Arc::new(DefaultRequestHandler::new(Agent, InMemoryTaskStore::new()));
    axum::serve(listener, a2a_server::jsonrpc::jsonrpc_router(handler)).await
}
