package main

import (
	"context"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaMember is the handler of a group: its methods run in goroutines of the client.
type saramaMember struct {
	name      string
	group     sarama.ConsumerGroup
	cancel    context.CancelFunc
	ended     chan struct{}
	lock      sync.Mutex
	session   sarama.ConsumerGroupSession
	assigned  []int32
	values    [][]byte
	positions map[int32]int64
	failed    error
}

type saramaProducer struct{ sarama.AsyncProducer }

var (
	saramaMembers   = map[int]*saramaMember{}
	saramaProducers = map[int]*saramaProducer{}
)

func askSaramaMember(q question, config *sarama.Config) (any, error) {
	switch q.Ask {
	case "member_join":
		return saramaJoin(q, config)
	case "member_poll":
		return saramaMembers[q.Member].poll()
	case "member_commit":
		saramaMembers[q.Member].commit()
		return nil, nil
	case "member_leave":
		member := saramaMembers[q.Member]
		delete(saramaMembers, q.Member)
		return nil, member.leave()
	case "session_open":
		producer, err := saramaOpen(q, config)
		if err != nil {
			return nil, err
		}
		member, err := saramaJoin(q, sarama.NewConfig())
		return []any{producer, member}, err
	case "transaction_open":
		return saramaOpen(q, config)
	case "transaction_begin":
		return nil, saramaProducers[q.Producer].BeginTxn()
	case "transaction_send":
		return nil, saramaProducers[q.Producer].send(q)
	case "transaction_offsets":
		return nil, saramaSendOffsets(q)
	case "transaction_end":
		if q.Commit {
			return nil, saramaProducers[q.Producer].CommitTxn()
		}
		return nil, saramaProducers[q.Producer].AbortTxn()
	case "transaction_close":
		producer := saramaProducers[q.Producer]
		delete(saramaProducers, q.Producer)
		return nil, producer.Close()
	}
	return nil, errUnknown
}

func saramaJoin(q question, config *sarama.Config) (any, error) {
	if q.Protocol != "classic" {
		return nil, cannot("has classic groups alone")
	}
	if q.Assignor != "range" {
		return nil, cannot("has no cooperative assignor")
	}
	config.Version = sarama.MaxVersion
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	config.Consumer.Group.Heartbeat.Interval = poll
	config.Consumer.Group.Rebalance.Retry.Backoff = poll
	config.Consumer.Group.InstanceId = q.Instance
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.MaxWaitTime = 20 * time.Millisecond
	group, err := sarama.NewConsumerGroup(q.servers(), q.Group, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	member := &saramaMember{name: q.Group, group: group, cancel: cancel, ended: make(chan struct{}), positions: map[int32]int64{}}
	go member.run(ctx, q.Topic)
	made++
	saramaMembers[made] = member
	return made, nil
}

// run joins again after each rebalance.
func (m *saramaMember) run(ctx context.Context, topic string) {
	defer close(m.ended)
	for ctx.Err() == nil {
		if err := m.group.Consume(ctx, []string{topic}, m); err != nil && ctx.Err() == nil {
			m.lock.Lock()
			m.failed = err
			m.lock.Unlock()
			return
		}
	}
}

func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session, m.assigned = session, []int32{}
	for _, partitions := range session.Claims() {
		m.assigned = append(m.assigned, partitions...)
	}
	return nil
}

func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session, m.assigned = nil, []int32{}
	return nil
}

func (m *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for each := range claim.Messages() {
		m.lock.Lock()
		m.values = append(m.values, each.Value)
		m.positions[each.Partition] = each.Offset + 1
		session.MarkMessage(each, "")
		m.lock.Unlock()
	}
	return nil
}

func (m *saramaMember) poll() (any, error) {
	time.Sleep(poll / 2)
	m.lock.Lock()
	defer m.lock.Unlock()
	answer := polledAnswer{Assigned: append([]int32{}, m.assigned...), Values: append([][]byte{}, m.values...)}
	m.values = nil
	return answer, m.failed
}

func (m *saramaMember) commit() {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.session != nil {
		m.session.Commit()
	}
}

func (m *saramaMember) leave() error {
	m.cancel()
	<-m.ended
	return m.group.Close()
}

func saramaOpen(q question, config *sarama.Config) (any, error) {
	config.Producer.Transaction.ID = q.ID
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewAsyncProducer(q.servers(), config)
	if err != nil {
		return nil, err
	}
	made++
	saramaProducers[made] = &saramaProducer{producer}
	return made, nil
}

func (p *saramaProducer) send(q question) error {
	for _, each := range q.Records {
		p.Input() <- &sarama.ProducerMessage{
			Topic: q.Topic, Key: sarama.ByteEncoder(each.Key), Value: sarama.ByteEncoder(each.Value),
			Timestamp: time.UnixMilli(each.Timestamp),
		}
	}
	for range q.Records {
		select {
		case <-p.Successes():
		case failed := <-p.Errors():
			return failed.Err
		}
	}
	return nil
}

func saramaSendOffsets(q question) error {
	member := saramaMembers[q.Member]
	member.lock.Lock()
	defer member.lock.Unlock()
	offsets := map[string][]*sarama.PartitionOffsetMetadata{}
	for topic, partitions := range member.session.Claims() {
		for _, partition := range partitions {
			position := &sarama.PartitionOffsetMetadata{Partition: partition, Offset: member.positions[partition]}
			offsets[topic] = append(offsets[topic], position)
		}
	}
	return saramaProducers[q.Producer].AddOffsetsToTxn(offsets, member.name)
}

func saramaGroups(q question, client sarama.Client, admin sarama.ClusterAdmin) (any, error) {
	switch q.Ask {
	case "list_groups":
		groups, err := admin.ListConsumerGroups()
		names := []string{} // a slice that is nil would be null in the answer
		for name := range groups {
			names = append(names, name)
		}
		return names, err
	case "describe_group":
		groups, err := admin.DescribeConsumerGroups([]string{q.Group})
		if err != nil {
			return nil, err
		}
		return groupAnswer{groups[0].State, len(groups[0].Members)}, nil
	case "delete_group":
		return nil, admin.DeleteConsumerGroup(q.Group)
	case "group_offsets":
		return saramaOffsets(q, admin)
	case "set_group_offset":
		return nil, saramaSetOffset(q, client)
	case "delete_group_offset":
		return nil, admin.DeleteConsumerGroupOffset(q.Group, q.Topic, q.Partition)
	case "list_transactions", "describe_transaction":
		return nil, cannot("has no admin calls for transactions")
	}
	return nil, errUnknown
}

func saramaOffsets(q question, admin sarama.ClusterAdmin) (any, error) {
	answer, err := admin.ListConsumerGroupOffsets(q.Group, nil)
	if err != nil {
		return nil, err
	}
	seen := map[string]int64{}
	for topic, partitions := range answer.Blocks {
		for partition, block := range partitions {
			seen[place(topic, partition)] = block.Offset
		}
	}
	return seen, nil
}

// saramaSetOffset commits as a consumer without a group's membership does.
func saramaSetOffset(q question, client sarama.Client) error {
	manager, err := sarama.NewOffsetManagerFromClient(q.Group, client)
	if err != nil {
		return err
	}
	defer manager.Close()
	partition, err := manager.ManagePartition(q.Topic, q.Partition)
	if err != nil {
		return err
	}
	defer partition.AsyncClose()
	partition.MarkOffset(q.Offset, "")
	manager.Commit()
	return nil
}
