//! krafka, asked as the Java program is: one JSON object a line in, one a line out, bytes as base64.

mod administration;
mod members;

use std::io::{BufRead, Write};
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use krafka::admin::TopicPartition;
use krafka::consumer::{ConsumerRecord, IsolationLevel};
use krafka::producer::Acks;
use krafka::{Compression, Kafka, KrafkaError, Record};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(120);
const PRODUCER_FENCED: i16 = 90;

/// The result of a question that failed.
pub enum Failure {
    /// The client lacks a call, for this reason.
    Cannot(&'static str),
    Client(KrafkaError),
    Other(String),
}

impl From<KrafkaError> for Failure {
    fn from(error: KrafkaError) -> Self {
        Failure::Client(error)
    }
}

pub type Answer = Result<Value, Failure>;

/// A question with its arguments.
pub struct Question(Value);

impl Question {
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    pub fn number(&self, name: &str) -> i64 {
        self.0[name].as_i64().unwrap_or_default()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0[name].as_bool().unwrap_or_default()
    }

    pub fn object(&self, name: &str) -> Value {
        self.0[name].clone()
    }

    pub fn place(&self) -> TopicPartition {
        TopicPartition::new(self.text("topic"), self.number("partition") as i32)
    }

    /// The records to send, all to one partition.
    pub fn records(&self) -> Vec<Record> {
        let (topic, partition) = (self.text("topic"), self.number("partition") as i32);
        let sent = self.0["records"].as_array().cloned().unwrap_or_default();
        sent.iter().map(|each| record(topic, partition, each)).collect()
    }
}

fn record(topic: &str, partition: i32, sent: &Value) -> Record {
    let mut made = Record::new(topic, Vec::new()).partition(partition);
    made = made.timestamp(sent["timestamp"].as_i64().unwrap_or(-1));
    made.key = bytes(&sent["key"]).map(Into::into);
    made.value = bytes(&sent["value"]).map(Into::into);
    for pair in sent["headers"].as_array().into_iter().flatten() {
        let name = pair[0].as_str().unwrap_or_default();
        made = match bytes(&pair[1]) {
            Some(value) => made.header(name, value),
            None => made.null_header(name),
        };
    }
    made
}

fn bytes(text: &Value) -> Option<Vec<u8>> {
    text.as_str().map(|each| STANDARD.decode(each).expect("base64"))
}

pub fn text(data: &Option<bytes::Bytes>) -> Value {
    data.as_ref().map_or(Value::Null, |each| STANDARD.encode(each).into())
}

fn seen(each: &ConsumerRecord) -> Value {
    let headers: Vec<Value> =
        each.headers.iter().map(|(name, value)| json!([name, text(value)])).collect();
    json!({
        "offset": each.offset, "timestamp": each.timestamp, "key": text(&each.key),
        "value": text(&each.value), "headers": headers,
    })
}

pub async fn connect(question: &Question) -> Result<Kafka, KrafkaError> {
    Kafka::builder(question.text("bootstrap")).allow_auto_create_topics(true).connect().await
}

async fn produce(question: &Question) -> Answer {
    let settings = Question(question.object("settings"));
    let compression = match settings.text("compression.type") {
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => return Err(Failure::Cannot("compresses with zstd only if it is built for it")),
        _ => Compression::None,
    };
    let acks = match settings.text("acks") {
        "0" => Acks::None,
        "1" => Acks::Leader,
        _ => Acks::All,
    };
    let producer = connect(question)
        .await?
        .producer()
        .acks(acks)
        .compression(compression)
        .idempotent(settings.flag("enable.idempotence"))
        .linger(Duration::from_millis(50))
        .max_request_size(settings.number("max.request.size") as usize)
        .build()
        .await?;
    let mut promises = Vec::new();
    for each in question.records() {
        promises.push(producer.enqueue(each).await?);
    }
    for promise in promises {
        let _ = promise.await?;
    }
    producer.close().await?;
    Ok(Value::Null)
}

async fn consume(question: &Question) -> Answer {
    let is_committed = question.text("isolation") == "read_committed";
    let isolation =
        if is_committed { IsolationLevel::ReadCommitted } else { IsolationLevel::ReadUncommitted };
    let place = question.place();
    let consumer = connect(question)
        .await?
        .consumer_without_group()
        .isolation_level(isolation)
        .fetch_max_wait(members::POLL)
        .build()
        .await?;
    consumer.assign(&place.topic, vec![place.partition]).await?;
    consumer.seek(&place.topic, place.partition, question.number("start")).await?;
    let mut found = Vec::new();
    while (found.len() as i64) < question.number("count") {
        found.extend(consumer.poll(members::POLL).await?.iter().map(seen));
    }
    consumer.close().await?;
    Ok(found.into())
}

async fn answer(question: &Question, living: &mut members::Living) -> Answer {
    match question.text("ask") {
        "produce" => produce(question).await,
        "consume" => consume(question).await,
        asked if asked.starts_with("member_") => living.answer_member(question).await,
        asked if asked.starts_with("transaction_") => living.answer_transaction(question).await,
        "session_open" => {
            let producer = living.open(question).await?;
            Ok(json!([producer, living.join(question).await?]))
        }
        _ => administration::answer(question).await,
    }
}

fn said(answer: Answer) -> Value {
    let (kind, words, code) = match answer {
        Ok(answer) => return json!({"answer": answer}),
        Err(Failure::Cannot(reason)) => ("cannot", reason.to_string(), None),
        Err(Failure::Other(words)) => ("other", words, None),
        Err(Failure::Client(error)) => ("krafka", error.to_string(), code_of(&error)),
    };
    json!({"failed": words, "kind": kind, "code": code})
}

fn code_of(error: &KrafkaError) -> Option<i16> {
    match error {
        KrafkaError::Broker { code, .. } => Some(code.to_i16()),
        KrafkaError::Fenced { .. } => Some(PRODUCER_FENCED),
        KrafkaError::UnknownTopic { .. } => Some(3),
        _ => None,
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut living = members::Living::default();
    let mut answers = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let question = Question(serde_json::from_str(&line.expect("a line")).expect("JSON"));
        let asked = async { tokio::time::timeout(PATIENCE, answer(&question, &mut living)).await };
        let found = runtime
            .block_on(asked)
            .unwrap_or_else(|_| Err(Failure::Other("there was no answer in time".to_string())));
        writeln!(answers, "{}", said(found)).expect("an open pipe");
        answers.flush().expect("an open pipe");
    }
    runtime.shutdown_background();
}
