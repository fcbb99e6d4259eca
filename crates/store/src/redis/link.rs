//! The way to Redis, one server or a cluster: every command has a time limit, and a connection that failed is replaced.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::ports::PortError;
use futures_util::future::{BoxFuture, Shared};
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisError, Value};

use super::failures::{may_pass, port_error, unavailable, wears_out_the_connection};
use super::settings::{RedisSettings, shown};

/// How long is waited before the first repetition; each further one waits twice as long.
const RETRY_WAIT_MIN: Duration = Duration::from_millis(20);

/// Longest wait before a repetition: a restart takes about as long.
const RETRY_WAIT_MAX: Duration = Duration::from_millis(500);

/// Commands under way at once for one caller: enough to hide the distance, few enough to let others in between.
pub(super) const AT_ONCE_MAX: usize = 16;

/// The way to Redis.
pub(super) struct Link {
    way: Way,
    settings: RedisSettings,
}

enum Way {
    Server(Box<Server>),
    /// It reconnects and follows redirections by itself.
    Cluster(ClusterConnection),
}

/// One server, and the connection to it that everybody shares.
struct Server {
    client: Client,
    present: Mutex<Connecting>,
}

/// A connection that is made when somebody first waits for it, and shared by all who do.
#[derive(Clone)]
struct Connecting {
    /// How many there were before; says whether a failure was of this one.
    number: u64,
    connection: Shared<BoxFuture<'static, Result<MultiplexedConnection, RedisError>>>,
}

impl Link {
    /// Connects, and sees that somebody answers.
    pub(super) async fn open(settings: RedisSettings) -> Result<Self, PortError> {
        if settings.urls.iter().any(|url| url.starts_with("rediss://")) {
            // Whoever comes first decides for the process; everybody here decides the same.
            _ = rustls::crypto::ring::default_provider().install_default();
        }
        let way = if settings.cluster {
            Way::Cluster(cluster(&settings).await?)
        } else {
            Way::Server(Box::new(server(&settings)?))
        };
        let link = Self { way, settings };
        let greeting = redis::cmd("PING");
        link.within(link.ask::<Value>(&greeting)).await?;
        Ok(link)
    }

    pub(super) fn settings(&self) -> &RedisSettings {
        &self.settings
    }

    /// Does all of something within the time that an operation may take.
    pub(super) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, PortError>>,
    ) -> Result<T, PortError> {
        let limit = self.settings.operation_time_max();
        match tokio::time::timeout(limit, work).await {
            Ok(outcome) => outcome,
            Err(_) => {
                Err(unavailable(format!("there was no reply within {} ms", limit.as_millis())))
            }
        }
    }

    /// The answer to a command that may be repeated.
    pub(super) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, PortError> {
        let answer = self.answer(command).await;
        // Understood here and not on the way: all that waits and repeats is then compiled once.
        let understood = answer.and_then(|answer| Ok(redis::from_redis_value(answer)?));
        understood.map_err(|error| port_error(error, self.settings.reply_time_max))
    }

    async fn answer(&self, command: &Cmd) -> Result<Value, RedisError> {
        match &self.way {
            Way::Server(server) => server.answer(command, &self.settings).await,
            Way::Cluster(connection) => command.query_async(&mut connection.clone()).await,
        }
    }

    /// The answers to commands that need not wait for each other, in their order.
    pub(super) async fn ask_many<T: FromRedisValue>(
        &self,
        commands: Vec<Cmd>,
    ) -> Result<Vec<T>, PortError> {
        let answers = stream::iter(commands).map(|command| async move { self.ask(&command).await });
        answers.buffered(AT_ONCE_MAX).try_collect().await
    }

    /// The answer of each server to a question that needs no key, with its address; a refusal is an answer, too.
    pub(super) async fn ask_each(&self, command: Cmd) -> Result<Vec<(String, Value)>, PortError> {
        let connection = match &self.way {
            Way::Server(server) => {
                let address = server.client.get_connection_info().addr().to_string();
                let answer = server.answer(&command, &self.settings).await;
                return match answer.map_err(RedisError::try_into) {
                    Ok(value) => Ok(vec![(address, value)]),
                    Err(Ok(refusal)) => Ok(vec![(address, Value::ServerError(refusal))]),
                    Err(Err(error)) => Err(port_error(error, self.settings.reply_time_max)),
                };
            }
            Way::Cluster(connection) => connection,
        };
        let everywhere = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let answers = connection.clone().route_command(command, everywhere).await;
        match answers {
            Ok(Value::Map(answers)) => Ok(answers
                .into_iter()
                .filter_map(|(address, value)| {
                    Some((redis::from_redis_value(address).ok()?, value))
                })
                .collect()),
            Ok(_) => Err(unavailable("the cluster's nodes did not answer one by one")),
            Err(error) => Err(port_error(error, self.settings.reply_time_max)),
        }
    }
}

impl Server {
    async fn answer(&self, command: &Cmd, settings: &RedisSettings) -> Result<Value, RedisError> {
        let mut wait = RETRY_WAIT_MIN;
        let mut retries_left = settings.retries_bound();
        loop {
            let Connecting { number, connection } = self.present().clone();
            let answer = match connection.await {
                Ok(mut connection) => command.query_async(&mut connection).await,
                Err(error) => Err(error),
            };
            let error = match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if wears_out_the_connection(&error) {
                self.replace(number, settings);
            }
            if retries_left == 0 || !may_pass(&error) {
                return Err(error);
            }
            retries_left -= 1;
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_WAIT_MAX);
        }
    }

    /// Puts a new connection in the place of this one, unless somebody has done so already.
    fn replace(&self, number: u64, settings: &RedisSettings) {
        let mut present = self.present();
        if present.number == number {
            *present = connecting(self.client.clone(), settings, number + 1);
        }
    }

    fn present(&self) -> MutexGuard<'_, Connecting> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn server(settings: &RedisSettings) -> Result<Server, PortError> {
    let [url] = settings.urls.as_slice() else {
        let count = settings.urls.len();
        return Err(PortError::Refused(format!(
            "{count} addresses of Redis are given: name one, or say that it is a cluster"
        )));
    };
    let client = client(url)?;
    let present = Mutex::new(connecting(client.clone(), settings, 0));
    Ok(Server { client, present })
}

fn connecting(client: Client, settings: &RedisSettings, number: u64) -> Connecting {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(settings.connect_time_max))
        .set_response_timeout(Some(settings.reply_time_max));
    let connection =
        async move { client.get_multiplexed_async_connection_with_config(&config).await };
    Connecting { number, connection: connection.boxed().shared() }
}

async fn cluster(settings: &RedisSettings) -> Result<ClusterConnection, PortError> {
    for url in &settings.urls {
        // Asked one by one, so that the error names the address that is wrong.
        client(url)?;
    }
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let client = ClusterClient::builder(settings.urls.iter().map(String::as_str))
        .connection_timeout(settings.connect_time_max)
        .response_timeout(settings.reply_time_max)
        .overall_response_timeout(Some(settings.operation_time_max()))
        .retries(settings.retries_bound())
        .retry_wait_formula(milliseconds(RETRY_WAIT_MIN), 2)
        .min_retry_wait(milliseconds(RETRY_WAIT_MIN))
        .max_retry_wait(milliseconds(RETRY_WAIT_MAX))
        .build()
        .map_err(|error| {
            PortError::Refused(format!("the addresses of Redis do not fit together: {error}"))
        })?;
    let connection =
        tokio::time::timeout(settings.operation_time_max(), client.get_async_connection());
    match connection.await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(port_error(error, settings.reply_time_max)),
        Err(_) => Err(unavailable("no node of the cluster can be reached")),
    }
}

fn client(url: &str) -> Result<Client, PortError> {
    Client::open(url).map_err(|error| refused(url, &error))
}

fn refused(url: &str, error: &RedisError) -> PortError {
    // Only the kind of fault: the rest may repeat the address with its password.
    PortError::Refused(format!(
        "the address of Redis {} cannot be used ({}): it looks like redis://:password@host:6379/0",
        shown(url),
        error.category(),
    ))
}
