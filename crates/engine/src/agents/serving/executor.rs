//! Who does the work of a task: reads a message, and tells step by step what becomes of it.

use a2a::ids::{ContextId, TaskId};
use a2a::model::{Artifact, Message, Object, Part, TaskState};
use agent::identity::Principal;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// Does the work of tasks.
pub trait Executor: Send + Sync {
    /// Media types of parts that it reads, ranges such as `text/*` among them.
    fn media_types(&self) -> &'static [&'static str];
    /// An answer that needs no task.
    fn reply(&self, message: &Message) -> Option<Vec<Part>>;
    /// Works until the task has ended or waits for its caller; dropping it stops the work. One that ends otherwise has
    /// failed.
    fn work(&self, work: Work) -> BoxFuture<'static, ()>;
}

/// One piece of work.
pub struct Work {
    pub principal: Principal,
    pub task: TaskId,
    pub context: ContextId,
    /// What is to be answered.
    pub message: Message,
    /// What came with the request besides.
    pub metadata: Option<Object>,
    pub tell: Teller,
    /// What the caller says meanwhile. Boxed: a channel has room for many from the beginning, and most stay empty.
    pub inbox: mpsc::Receiver<Box<Message>>,
}

/// Something that happens to a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Status {
        state: TaskState,
        /// Empty: nothing is said.
        said: Vec<Part>,
    },
    Artifact {
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    },
}

/// Nobody hears what is told any more: the task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

/// Tells what happens to a task. It is kept before anybody hears of it.
#[derive(Debug, Clone)]
pub struct Teller(pub(super) mpsc::Sender<Box<Step>>);

impl Teller {
    pub async fn tell(&self, step: Step) -> Result<(), Ended> {
        self.0.send(Box::new(step)).await.map_err(|_| Ended)
    }

    /// The task has this state from now on, and the agent says why.
    pub async fn status(&self, state: TaskState, said: Vec<Part>) -> Result<(), Ended> {
        self.tell(Step::Status { state, said }).await
    }

    /// An artifact that is there as a whole.
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), Ended> {
        self.tell(Step::Artifact { artifact, append: false, last_chunk: true }).await
    }
}
