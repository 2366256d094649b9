//! The calls of krafka's admin client, one a question.

use std::collections::HashMap;
use std::hash::Hash;

use krafka::KrafkaError;
use krafka::admin::{
    AdminClient, ConfigOp, ConfigResource, CreateTopicsOptions, NewTopic, OffsetSpec,
};
use serde_json::{Map, Value, json};

use crate::{Answer, Failure, Question, connect};

pub async fn answer(question: &Question) -> Answer {
    let admin = connect(question).await?.admin();
    let found = match question.text("ask") {
        "create_topic" => create_topic(&admin, question).await,
        "describe_topic" | "grow_topic" | "delete_topic" => topic(&admin, question).await,
        "describe_configs" | "set_config" => config(&admin, question).await,
        "offset" | "delete_records" => offset(&admin, question).await,
        "describe_cluster" => describe_cluster(&admin).await,
        "log_dirs" => log_dirs(&admin).await,
        "list_groups" | "describe_group" | "delete_group" => group(&admin, question).await,
        "list_transactions" | "describe_transaction" => transaction(&admin, question).await,
        _ => group_offsets(&admin, question).await,
    };
    admin.close().await?;
    found
}

/// The one result of a call that answers for each thing on its own.
fn only<K: Eq + Hash, V>(found: HashMap<K, Result<V, KrafkaError>>) -> Result<V, Failure> {
    let first = found.into_values().next();
    Ok(first.ok_or(Failure::Other("there was no answer".to_string()))??)
}

async fn create_topic(admin: &AdminClient, question: &Question) -> Answer {
    let mut topic = NewTopic::new(question.text("topic"), question.number("partitions") as i32, -1)?;
    for (name, value) in question.object("configs").as_object().into_iter().flatten() {
        topic = topic.with_config(name, value.as_str().unwrap_or_default());
    }
    Ok(only(admin.create_topics([topic], CreateTopicsOptions::default()).await?)?.into())
}

async fn topic(admin: &AdminClient, question: &Question) -> Answer {
    let name = question.text("topic");
    match question.text("ask") {
        "grow_topic" => {
            let total = (name, question.number("partitions") as i32);
            Ok(only(admin.create_partitions([total], Default::default()).await?)?.into())
        }
        "delete_topic" => Ok(only(admin.delete_topics([name], Default::default()).await?)?.into()),
        _ => {
            let found = only(admin.describe_topics([name], Default::default()).await?)?;
            let leaders: Vec<_> = found.partitions.iter().map(|each| each.leader).collect();
            Ok(json!({"leaders": leaders}))
        }
    }
}

async fn config(admin: &AdminClient, question: &Question) -> Answer {
    if question.text("ask") == "describe_configs" {
        let topic = ConfigResource::topic(question.text("name"));
        let found = only(admin.describe_configs([topic], Default::default()).await?)?;
        let entry = |name: String, value: Option<String>| json!({"name": name, "value": value});
        return Ok(found.into_iter().map(|each| entry(each.name, each.value)).collect());
    }
    let topic = ConfigResource::topic(question.text("topic"));
    let change = ConfigOp::set(question.text("name"), question.text("value"));
    let changed = admin.incremental_alter_configs([(topic, vec![change])], Default::default());
    Ok(only(changed.await?)?.into())
}

async fn offset(admin: &AdminClient, question: &Question) -> Answer {
    if question.text("ask") == "delete_records" {
        let before = (question.place(), question.number("offset"));
        return Ok(only(admin.delete_records([before], Default::default()).await?)?.into());
    }
    let spec = match question.number("timestamp") {
        -1 => OffsetSpec::Latest,
        -2 => OffsetSpec::Earliest,
        time => OffsetSpec::Timestamp(time),
    };
    let found = only(admin.list_offsets([(question.place(), spec)], Default::default()).await?)?;
    Ok(found.offset.into())
}

async fn describe_cluster(admin: &AdminClient) -> Answer {
    let found = admin.describe_cluster(Default::default()).await?;
    let brokers: Vec<_> = found.brokers.iter().map(|each| each.id).collect();
    Ok(json!({"brokers": brokers, "controller": found.controller_id}))
}

async fn log_dirs(admin: &AdminClient) -> Answer {
    let broker = admin.describe_cluster(Default::default()).await?.controller_id;
    let mut sizes = Map::new();
    for folder in only(admin.describe_log_dirs([broker], Default::default()).await?)?.into_values() {
        for (place, replica) in folder?.replicas {
            sizes.insert(format!("{}-{}", place.topic, place.partition), replica.size.into());
        }
    }
    Ok(sizes.into())
}

async fn group(admin: &AdminClient, question: &Question) -> Answer {
    let name = question.text("group");
    match question.text("ask") {
        "list_groups" => {
            let found = only(admin.list_consumer_groups(Default::default()).await?)?;
            Ok(found.into_iter().map(|each| Value::from(each.group_id)).collect())
        }
        "describe_group" => {
            let described = admin.describe_consumer_groups([name], Default::default());
            let found = only(described.await?)?;
            Ok(json!({"state": found.state, "members": found.members.len()}))
        }
        _ => Ok(only(admin.delete_consumer_groups([name], Default::default()).await?)?.into()),
    }
}

async fn group_offsets(admin: &AdminClient, question: &Question) -> Answer {
    let (name, place) = (question.text("group"), question.place());
    match question.text("ask") {
        "set_group_offset" => {
            let wanted = [(place, question.number("offset"))];
            let changed = admin.alter_consumer_group_offsets(name, wanted, Default::default());
            Ok(only(changed.await?)?.into())
        }
        "delete_group_offset" => {
            let gone = admin.delete_consumer_group_offsets(name, [place], Default::default());
            Ok(only(gone.await?)?.into())
        }
        _ => {
            let mut offsets = Map::new();
            for (place, found) in
                admin.list_consumer_group_offsets(name, Default::default()).await?
            {
                let at = format!("{}-{}", place.topic, place.partition);
                offsets.insert(at, found?.offset.into());
            }
            Ok(offsets.into())
        }
    }
}

async fn transaction(admin: &AdminClient, question: &Question) -> Answer {
    if question.text("ask") == "list_transactions" {
        let found = only(admin.list_transactions(Default::default()).await?)?;
        return Ok(found.into_iter().map(|each| Value::from(each.transactional_id)).collect());
    }
    let described = admin.describe_transactions([question.text("id")], Default::default());
    let found = only(described.await?)?;
    let partitions: Vec<_> =
        found.partitions.iter().map(|each| format!("{}-{}", each.topic, each.partition)).collect();
    Ok(json!({"state": found.state, "partitions": partitions}))
}
