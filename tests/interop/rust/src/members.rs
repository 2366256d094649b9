//! Members of groups and transactional producers, which live from one question to the next.

use std::collections::HashMap;
use std::time::Duration;

use krafka::KrafkaError;
use krafka::consumer::{
    AutoOffsetReset, Consumer, GroupProtocol, IsolationLevel, PartitionAssignmentStrategy,
};
use krafka::producer::{TopicPartitionOffset, TransactionalProducer};
use serde_json::{Value, json};

use crate::{Answer, Failure, Question, connect, text};

pub const POLL: Duration = Duration::from_millis(100);

#[derive(Default)]
pub struct Living {
    members: HashMap<i64, Member>,
    producers: HashMap<i64, TransactionalProducer>,
    made: i64,
}

struct Member {
    consumer: Consumer,
    topic: String,
}

impl Living {
    pub async fn answer_member(&mut self, question: &Question) -> Answer {
        let handle = question.number("member");
        match question.text("ask") {
            "member_join" => self.join(question).await,
            "member_poll" => self.members[&handle].poll().await,
            "member_commit" => Ok(self.members[&handle].consumer.commit().await?.into()),
            _ => {
                let gone = self.members.remove(&handle).expect("a member");
                Ok(gone.consumer.close().await?.into())
            }
        }
    }

    pub async fn answer_transaction(&mut self, question: &Question) -> Answer {
        if question.text("ask") == "transaction_open" {
            return self.open(question).await;
        }
        let handle = question.number("producer");
        let producer = &self.producers[&handle];
        match question.text("ask") {
            "transaction_begin" => producer.begin()?,
            "transaction_send" => send(producer, question).await?,
            "transaction_offsets" => {
                self.members[&question.number("member")].send_offsets(producer).await?;
            }
            "transaction_end" if question.flag("commit") => producer.commit().await?,
            "transaction_end" => producer.abort().await?,
            _ => {
                let gone = self.producers.remove(&handle).expect("a producer");
                gone.close().await?;
            }
        }
        Ok(Value::Null)
    }

    pub async fn join(&mut self, question: &Question) -> Answer {
        let strategy = match question.text("assignor") {
            "cooperative-sticky" => PartitionAssignmentStrategy::CooperativeSticky,
            _ => PartitionAssignmentStrategy::Range,
        };
        let mut builder = connect(question)
            .await?
            .consumer(question.text("group"))
            .auto_offset_reset(AutoOffsetReset::Earliest)
            .enable_auto_commit(false)
            .isolation_level(IsolationLevel::ReadCommitted)
            .fetch_max_wait(Duration::from_millis(20));
        builder = match question.text("protocol") {
            "consumer" => builder.group_protocol(GroupProtocol::Consumer),
            _ => builder.partition_assignment_strategy(strategy).heartbeat_interval(POLL),
        };
        if !question.text("instance").is_empty() {
            builder = builder.group_instance_id(question.text("instance"));
        }
        let consumer = builder.build().await?;
        let topic = question.text("topic").to_string();
        consumer.subscribe([&topic]).await?;
        self.made += 1;
        self.members.insert(self.made, Member { consumer, topic });
        Ok(self.made.into())
    }

    pub async fn open(&mut self, question: &Question) -> Answer {
        let kafka = connect(question).await?;
        let producer = kafka.producer().build_transactional(question.text("id")).await?;
        self.made += 1;
        self.producers.insert(self.made, producer);
        Ok(self.made.into())
    }
}

impl Member {
    async fn poll(&self) -> Answer {
        let found = self.consumer.poll(POLL).await?;
        let values: Vec<Value> = found.iter().map(|each| text(&each.value)).collect();
        let mut assigned = self.assigned().await;
        assigned.sort_unstable();
        Ok(json!({"assigned": assigned, "values": values}))
    }

    async fn assigned(&self) -> Vec<i32> {
        self.consumer.assignment().await.remove(&self.topic).unwrap_or_default()
    }

    async fn send_offsets(&self, producer: &TransactionalProducer) -> Result<(), Failure> {
        let mut offsets = Vec::new();
        for partition in self.assigned().await {
            if let Some(offset) = self.consumer.position(&self.topic, partition).await {
                offsets.push(TopicPartitionOffset::new(&*self.topic, partition, offset));
            }
        }
        let metadata = self.consumer.group_metadata().await;
        let metadata = metadata.ok_or(Failure::Other("not a member of the group".to_string()))?;
        Ok(producer.send_offsets(&offsets, &metadata).await?)
    }
}

async fn send(producer: &TransactionalProducer, question: &Question) -> Result<(), KrafkaError> {
    for each in question.records() {
        let _ = producer.send(each).await?;
    }
    Ok(())
}
