package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var franzCodecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func askFranz(q question) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch q.Ask {
	case "produce":
		return nil, franzError(franzProduce(ctx, q))
	case "consume":
		answer, err := franzConsume(ctx, q)
		return answer, franzError(err)
	}
	if answer, err := askFranzMember(ctx, q); err != errUnknown {
		return answer, franzError(err)
	}
	client, err := kgo.NewClient(franzServers(q)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	answer, err := franzAdmin(ctx, q, kadm.NewClient(client))
	return answer, franzError(err)
}

// franzServers returns the options of every client. A broker that is killed ends connections at their
// first request, which the client takes for a missing configuration otherwise.
func franzServers(q question) []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(q.servers()...), kgo.AlwaysRetryEOF()}
}

func franzError(err error) error {
	var no *kerr.Error
	if errors.As(err, &no) {
		return &refused{no.Code, err.Error()}
	}
	return err
}

func franzProduce(ctx context.Context, q question) error {
	acks := map[int16]kgo.Acks{-1: kgo.AllISRAcks(), 0: kgo.NoAck(), 1: kgo.LeaderAck()}[q.acks()]
	options := append(franzServers(q),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(acks),
		kgo.ProducerBatchCompression(franzCodecs[q.codec()]), kgo.ProducerBatchMaxBytes(int32(q.limit())),
		kgo.ProducerLinger(50*time.Millisecond), kgo.AllowAutoTopicCreation(),
	)
	if !q.isIdempotent() {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for _, each := range q.Records {
		sent := &kgo.Record{
			Topic: q.Topic, Partition: q.Partition, Key: each.Key, Value: each.Value,
			Timestamp: time.UnixMilli(each.Timestamp),
		}
		for _, pair := range each.Headers {
			sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: *pair[0], Value: pair.value()})
		}
		records = append(records, sent)
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func franzConsume(ctx context.Context, q question) ([]record, error) {
	start := map[string]map[int32]kgo.Offset{q.Topic: {q.Partition: kgo.NewOffset().At(q.Start)}}
	client, err := kgo.NewClient(
		append(franzServers(q), kgo.ConsumePartitions(start), kgo.FetchIsolationLevel(isolation(q)))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, q.Topic)
	if err != nil {
		return nil, err
	}
	end, _ := ends.Lookup(q.Topic, q.Partition)
	seen := []record{}
	// A marker ends a transaction, so the last record is before the end.
	for next := q.Start; next < end.Offset && !(q.isCommitted() && len(seen) == q.Count); {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(each *kgo.Record) {
			next = each.Offset + 1
			one := newRecord(each.Offset, each.Timestamp, each.Key, each.Value)
			for _, pair := range each.Headers {
				one.Headers = append(one.Headers, newHeader(pair.Key, pair.Value))
			}
			seen = append(seen, one)
		})
	}
	return seen, nil
}

func franzAdmin(ctx context.Context, q question, admin *kadm.Client) (any, error) {
	switch q.Ask {
	case "create_topic":
		configs := map[string]*string{}
		for name, value := range q.Configs {
			configs[name] = &value
		}
		answer, err := admin.CreateTopic(ctx, int32(q.Partitions), -1, configs, q.Topic)
		return nil, errors.Join(err, answer.Err)
	case "describe_topic":
		return franzTopic(ctx, q, admin)
	case "grow_topic":
		answers, err := admin.UpdatePartitions(ctx, q.Partitions, q.Topic)
		return nil, errors.Join(err, answers.Error())
	case "delete_topic":
		answer, err := admin.DeleteTopic(ctx, q.Topic)
		return nil, errors.Join(err, answer.Err)
	case "set_config":
		change := kadm.AlterConfig{Op: kadm.SetConfig, Name: q.Name, Value: &q.Value}
		answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, q.Topic)
		if err != nil {
			return nil, err
		}
		return nil, answers[0].Err
	case "describe_configs":
		return franzConfigs(ctx, q, admin)
	case "offset":
		return franzOffset(ctx, q, admin)
	case "delete_records":
		offsets := kadm.Offsets{}
		offsets.AddOffset(q.Topic, q.Partition, q.Offset, -1)
		answers, err := admin.DeleteRecords(ctx, offsets)
		if err != nil {
			return nil, err
		}
		answer := answers[q.Topic][q.Partition]
		return answer.LowWatermark, answer.Err
	case "describe_cluster":
		cluster, err := admin.BrokerMetadata(ctx)
		return clusterAnswer{cluster.Brokers.NodeIDs(), cluster.Controller}, err
	case "log_dirs":
		return franzLogDirs(ctx, admin)
	}
	return franzGroups(ctx, q, admin)
}

func franzTopic(ctx context.Context, q question, admin *kadm.Client) (any, error) {
	topics, err := admin.ListTopics(ctx, q.Topic)
	if err != nil {
		return nil, err
	}
	topic := topics[q.Topic]
	var answer topicAnswer
	for _, partition := range topic.Partitions.Sorted() {
		answer.Leaders = append(answer.Leaders, partition.Leader)
	}
	return answer, topic.Err
}

func franzConfigs(ctx context.Context, q question, admin *kadm.Client) (any, error) {
	answers, err := admin.DescribeTopicConfigs(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	var seen []configAnswer
	for _, config := range answers[0].Configs {
		seen = append(seen, configAnswer{config.Key, config.MaybeValue()})
	}
	return seen, answers[0].Err
}

func franzOffset(ctx context.Context, q question, admin *kadm.Client) (any, error) {
	var answers kadm.ListedOffsets
	var err error
	switch q.Timestamp {
	case -1:
		answers, err = admin.ListEndOffsets(ctx, q.Topic)
	case -2:
		answers, err = admin.ListStartOffsets(ctx, q.Topic)
	default:
		answers, err = admin.ListOffsetsAfterMilli(ctx, q.Timestamp, q.Topic)
	}
	answer, _ := answers.Lookup(q.Topic, q.Partition)
	return answer.Offset, errors.Join(err, answer.Err)
}

func franzLogDirs(ctx context.Context, admin *kadm.Client) (any, error) {
	answers, err := admin.DescribeAllLogDirs(ctx, nil)
	sizes := map[string]int64{}
	answers.Each(func(folder kadm.DescribedLogDir) {
		for _, partition := range folder.Topics.Sorted() {
			sizes[fmt.Sprintf("%s-%d", partition.Topic, partition.Partition)] = partition.Size
		}
	})
	return sizes, err
}
