package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franzMember is a client in a group, which may be that of a session with transactions.
type franzMember struct {
	client   *kgo.Client
	topic    string
	lock     sync.Mutex
	assigned map[int32]bool
}

var (
	franzMembers   = map[int]*franzMember{}
	franzProducers = map[int]*kgo.Client{}
	franzSessions  = map[int]*kgo.GroupTransactSession{}
	made           int
)

func isolation(q question) kgo.IsolationLevel {
	if q.isCommitted() {
		return kgo.ReadCommitted()
	}
	return kgo.ReadUncommitted()
}

func askFranzMember(ctx context.Context, q question) (any, error) {
	switch q.Ask {
	case "member_join":
		return franzJoin(q)
	case "member_poll":
		return franzMembers[q.Member].poll()
	case "member_commit":
		client := franzMembers[q.Member].client
		return nil, franzRetried(ctx, func() error { return client.CommitUncommittedOffsets(ctx) })
	case "member_leave":
		member := franzMembers[q.Member]
		delete(franzMembers, q.Member)
		member.client.Close()
		return nil, nil
	case "session_open":
		return franzSession(ctx, q)
	case "transaction_open":
		client, err := franzBegun(ctx, func() (*kgo.Client, error) { return kgo.NewClient(franzProducer(q)...) })
		if err != nil {
			return nil, err
		}
		made++
		franzProducers[made] = client
		return made, nil
	case "transaction_begin":
		if session := franzSessions[q.Producer]; session != nil {
			return nil, session.Begin()
		}
		return nil, franzProducers[q.Producer].BeginTransaction()
	case "transaction_send":
		return nil, franzSend(ctx, q)
	case "transaction_offsets":
		// The end of a session commits them.
		return nil, nil
	case "transaction_end":
		return nil, franzEnd(ctx, q)
	case "transaction_close":
		if client := franzProducers[q.Producer]; client != nil {
			client.Close()
		}
		delete(franzProducers, q.Producer)
		delete(franzSessions, q.Producer)
		return nil, nil
	}
	return nil, errUnknown
}

func franzProducer(q question) []kgo.Opt {
	return append(franzServers(q), kgo.TransactionalID(q.ID), kgo.RecordPartitioner(kgo.ManualPartitioner()))
}

func (m *franzMember) options(q question) []kgo.Opt {
	options := append(franzServers(q),
		kgo.ConsumerGroup(q.Group), kgo.ConsumeTopics(q.Topic),
		kgo.DisableAutoCommit(), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond),
		kgo.HeartbeatInterval(poll),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { m.change(added, true) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.change(gone, false) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.change(gone, false) }),
	)
	if q.Assignor == "cooperative-sticky" {
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	} else {
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	if q.Protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	if q.Instance != "" {
		options = append(options, kgo.InstanceID(q.Instance))
	}
	return options
}

func (m *franzMember) change(partitions map[string][]int32, isAdded bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, each := range partitions[m.topic] {
		if isAdded {
			m.assigned[each] = true
		} else {
			delete(m.assigned, each)
		}
	}
}

func franzJoin(q question) (any, error) {
	if q.Protocol == "consumer" && q.Instance != "" {
		return nil, cannot("does not release the instance id of a member of the new protocol")
	}
	member := &franzMember{topic: q.Topic, assigned: map[int32]bool{}}
	client, err := kgo.NewClient(member.options(q)...)
	if err != nil {
		return nil, err
	}
	member.client = client
	made++
	franzMembers[made] = member
	return made, nil
}

func franzSession(ctx context.Context, q question) (any, error) {
	var member *franzMember
	var session *kgo.GroupTransactSession
	client, err := franzBegun(ctx, func() (*kgo.Client, error) {
		member = &franzMember{topic: q.Topic, assigned: map[int32]bool{}}
		options := append(member.options(q), franzProducer(q)...)
		var err error
		if session, err = kgo.NewGroupTransactSession(append(options, kgo.RequireStableFetchOffsets())...); err != nil {
			return nil, err
		}
		return session.Client(), nil
	})
	if err != nil {
		return nil, err
	}
	member.client = client
	made++
	franzMembers[made], franzSessions[made] = member, session
	return []int{made, made}, nil
}

// franzBegun returns a client whose transactional id is registered. The client itself tries to find a
// coordinator for a while only, which may be that of a broker that is killed.
func franzBegun(ctx context.Context, open func() (*kgo.Client, error)) (*kgo.Client, error) {
	client, err := open()
	if err != nil {
		return nil, err
	}
	err = franzRetried(ctx, func() error {
		_, _, err := client.ProducerID(ctx)
		return err
	})
	if err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// franzRetried calls until no connection fails, or until a broker answers with an error.
func franzRetried(ctx context.Context, call func() error) error {
	for {
		err := call()
		var no *kerr.Error
		if err == nil || errors.As(err, &no) || ctx.Err() != nil {
			return err
		}
	}
}

func (m *franzMember) poll() (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), poll)
	defer cancel()
	fetches := m.client.PollFetches(ctx)
	// A session that ends with its coordinator is joined again by the client itself.
	var session *kgo.ErrGroupSession
	if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &session) {
		return nil, err
	}
	answer := polledAnswer{Assigned: []int32{}, Values: [][]byte{}}
	fetches.EachRecord(func(each *kgo.Record) { answer.Values = append(answer.Values, each.Value) })
	m.lock.Lock()
	defer m.lock.Unlock()
	for each := range m.assigned {
		answer.Assigned = append(answer.Assigned, each)
	}
	return answer, nil
}

func franzSend(ctx context.Context, q question) error {
	client := franzProducers[q.Producer]
	if session := franzSessions[q.Producer]; session != nil {
		client = session.Client()
	}
	var records []*kgo.Record
	for _, each := range q.Records {
		records = append(records, &kgo.Record{
			Topic: q.Topic, Key: each.Key, Value: each.Value, Timestamp: time.UnixMilli(each.Timestamp),
		})
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func franzEnd(ctx context.Context, q question) error {
	if session := franzSessions[q.Producer]; session != nil {
		committed, err := session.End(ctx, kgo.TransactionEndTry(q.Commit))
		if err == nil && committed != q.Commit {
			return errors.New("the session has aborted its transaction")
		}
		return err
	}
	return franzProducers[q.Producer].EndTransaction(ctx, kgo.TransactionEndTry(q.Commit))
}

func franzGroups(ctx context.Context, q question, admin *kadm.Client) (any, error) {
	switch q.Ask {
	case "list_groups":
		groups, err := admin.ListGroups(ctx)
		return groups.Groups(), err
	case "describe_group":
		groups, err := admin.DescribeGroups(ctx, q.Group)
		if err != nil {
			return nil, err
		}
		group := groups[q.Group]
		return groupAnswer{group.State, len(group.Members)}, group.Err
	case "delete_group":
		answer, err := admin.DeleteGroup(ctx, q.Group)
		return nil, errors.Join(err, answer.Err)
	case "group_offsets":
		offsets, err := admin.FetchOffsets(ctx, q.Group)
		seen := map[string]int64{}
		offsets.Each(func(each kadm.OffsetResponse) { seen[place(each.Topic, each.Partition)] = each.At })
		return seen, err
	case "set_group_offset":
		offsets := kadm.Offsets{}
		offsets.AddOffset(q.Topic, q.Partition, q.Offset, -1)
		return nil, admin.CommitAllOffsets(ctx, q.Group, offsets)
	case "delete_group_offset":
		partitions := kadm.TopicsSet{}
		partitions.Add(q.Topic, q.Partition)
		answers, err := admin.DeleteOffsets(ctx, q.Group, partitions)
		return nil, errors.Join(err, answers.Error())
	case "list_transactions":
		transactions, err := admin.ListTransactions(ctx, nil, nil)
		return transactions.TransactionalIDs(), err
	case "describe_transaction":
		transactions, err := admin.DescribeTransactions(ctx, q.ID)
		if err != nil {
			return nil, err
		}
		found := transactions[q.ID]
		answer := transactionAnswer{State: found.State}
		found.Topics.Each(func(topic string, partition int32) {
			answer.Partitions = append(answer.Partitions, place(topic, partition))
		})
		return answer, found.Err
	}
	return nil, errUnknown
}
