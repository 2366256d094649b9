package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func askSarama(q question) (any, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	switch q.Ask {
	case "produce":
		return nil, saramaError(saramaProduce(q, config))
	case "consume":
		answer, err := saramaConsume(q, config)
		return answer, saramaError(err)
	}
	if answer, err := askSaramaMember(q, config); err != errUnknown {
		return answer, saramaError(err)
	}
	client, err := sarama.NewClient(q.servers(), config)
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	answer, err := saramaAdmin(q, client, admin)
	return answer, saramaError(err)
}

func saramaError(err error) error {
	var code sarama.KError
	if errors.As(err, &code) {
		return &refused{int16(code), err.Error()}
	}
	var many sarama.ProducerErrors
	if errors.As(err, &many) {
		return saramaError(many[0].Err)
	}
	return err
}

func saramaProduce(q question, config *sarama.Config) error {
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.RequiredAcks(q.acks())
	config.Producer.Compression = saramaCodecs[q.codec()]
	config.Producer.Idempotent = q.isIdempotent()
	config.Producer.MaxMessageBytes = q.limit()
	config.Producer.Flush.Frequency = 50 * time.Millisecond
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(q.servers(), config)
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, each := range q.Records {
		sent := &sarama.ProducerMessage{
			Topic: q.Topic, Partition: q.Partition, Timestamp: time.UnixMilli(each.Timestamp),
		}
		if each.Key != nil {
			sent.Key = sarama.ByteEncoder(each.Key)
		}
		if each.Value != nil {
			sent.Value = sarama.ByteEncoder(each.Value)
		}
		for _, pair := range each.Headers {
			sent.Headers = append(sent.Headers, sarama.RecordHeader{Key: []byte(*pair[0]), Value: pair.value()})
		}
		messages = append(messages, sent)
	}
	return producer.SendMessages(messages)
}

func saramaConsume(q question, config *sarama.Config) ([]record, error) {
	if q.isCommitted() {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	client, err := sarama.NewClient(q.servers(), config)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	end, err := client.GetOffset(q.Topic, q.Partition, sarama.OffsetNewest)
	if err != nil {
		return nil, err
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(q.Topic, q.Partition, q.Start)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	seen := []record{}
	// A marker ends a transaction, so the last record is before the end.
	for next := q.Start; next < end && !(q.isCommitted() && len(seen) == q.Count); {
		select {
		case <-time.After(patience):
			return nil, fmt.Errorf("stuck at %d of %d", next, end)
		case each := <-partition.Messages():
			next = each.Offset + 1
			one := newRecord(each.Offset, each.Timestamp, each.Key, each.Value)
			for _, pair := range each.Headers {
				one.Headers = append(one.Headers, newHeader(string(pair.Key), pair.Value))
			}
			seen = append(seen, one)
		}
	}
	return seen, nil
}

func saramaAdmin(q question, client sarama.Client, admin sarama.ClusterAdmin) (any, error) {
	switch q.Ask {
	case "create_topic":
		detail := &sarama.TopicDetail{NumPartitions: int32(q.Partitions), ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
		for name, value := range q.Configs {
			detail.ConfigEntries[name] = &value
		}
		return nil, admin.CreateTopic(q.Topic, detail, false)
	case "describe_topic":
		return saramaTopic(q, admin)
	case "grow_topic":
		return nil, admin.CreatePartitions(q.Topic, int32(q.Partitions), nil, false)
	case "delete_topic":
		return nil, admin.DeleteTopic(q.Topic)
	case "set_config":
		change := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &q.Value}
		changes := map[string]sarama.IncrementalAlterConfigsEntry{q.Name: change}
		return nil, admin.IncrementalAlterConfig(sarama.TopicResource, q.Topic, changes, false)
	case "describe_configs":
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: q.Name})
		var seen []configAnswer
		for _, entry := range entries {
			seen = append(seen, configAnswer{entry.Name, entry.Value})
		}
		return seen, err
	case "offset":
		return client.GetOffset(q.Topic, q.Partition, q.Timestamp)
	case "delete_records":
		if err := admin.DeleteRecords(q.Topic, map[int32]int64{q.Partition: q.Offset}); err != nil {
			return nil, err
		}
		return client.GetOffset(q.Topic, q.Partition, sarama.OffsetOldest)
	case "describe_cluster":
		brokers, controller, err := admin.DescribeCluster()
		answer := clusterAnswer{Controller: controller}
		for _, broker := range brokers {
			answer.Brokers = append(answer.Brokers, broker.ID())
		}
		return answer, err
	case "log_dirs":
		return saramaLogDirs(client, admin)
	}
	return saramaGroups(q, client, admin)
}

func saramaTopic(q question, admin sarama.ClusterAdmin) (any, error) {
	topics, err := admin.DescribeTopics([]string{q.Topic})
	if err != nil {
		return nil, err
	}
	if topics[0].Err != sarama.ErrNoError {
		return nil, topics[0].Err
	}
	var answer topicAnswer
	for _, partition := range topics[0].Partitions {
		answer.Leaders = append(answer.Leaders, partition.Leader)
	}
	return answer, nil
}

func saramaLogDirs(client sarama.Client, admin sarama.ClusterAdmin) (any, error) {
	answers, err := admin.DescribeLogDirs([]int32{client.Brokers()[0].ID()})
	sizes := map[string]int64{}
	for _, folders := range answers {
		for _, folder := range folders {
			for _, topic := range folder.Topics {
				for _, partition := range topic.Partitions {
					sizes[fmt.Sprintf("%s-%d", topic.Topic, partition.PartitionID)] = partition.Size
				}
			}
		}
	}
	return sizes, err
}
