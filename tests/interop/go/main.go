// Clients from Go, asked as the Java program is: one JSON object a line in, one a line out, bytes as
// base64. The first argument says which client answers.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	patience = 120 * time.Second
	poll     = 100 * time.Millisecond
)

// header is a name and a value in base64, or null.
type header [2]*string

type record struct {
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []header `json:"headers"`
}

type question struct {
	Ask        string            `json:"ask"`
	Bootstrap  string            `json:"bootstrap"`
	Topic      string            `json:"topic"`
	Partition  int32             `json:"partition"`
	Partitions int               `json:"partitions"`
	Start      int64             `json:"start"`
	Offset     int64             `json:"offset"`
	Timestamp  int64             `json:"timestamp"`
	Name       string            `json:"name"`
	Value      string            `json:"value"`
	Configs    map[string]string `json:"configs"`
	Records    []record          `json:"records"`
	Settings   map[string]any    `json:"settings"`
	Isolation  string            `json:"isolation"`
	Count      int               `json:"count"`
	Group      string            `json:"group"`
	Protocol   string            `json:"protocol"`
	Assignor   string            `json:"assignor"`
	Instance   string            `json:"instance"`
	Member     int               `json:"member"`
	Producer   int               `json:"producer"`
	ID         string            `json:"id"`
	Commit     bool              `json:"commit"`
}

type topicAnswer struct {
	Leaders []int32 `json:"leaders"`
}

type clusterAnswer struct {
	Brokers    []int32 `json:"brokers"`
	Controller int32   `json:"controller"`
}

type configAnswer struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type polledAnswer struct {
	Assigned []int32  `json:"assigned"`
	Values   [][]byte `json:"values"`
}

type groupAnswer struct {
	State   string `json:"state"`
	Members int    `json:"members"`
}

type transactionAnswer struct {
	State      string   `json:"state"`
	Partitions []string `json:"partitions"`
}

// cannot is the reason why a client lacks a call.
type cannot string

func (c cannot) Error() string { return string(c) }

// refused is what a broker said no with.
type refused struct {
	code    int16
	message string
}

func (r *refused) Error() string { return r.message }

var errUnknown = errors.New("nothing answers this")

var clients = map[string]func(question) (any, error){"franz-go": askFranz, "sarama": askSarama}

func main() {
	answer := clients[os.Args[1]]
	questions := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := questions.ReadBytes('\n')
		if err != nil {
			return
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			panic(err)
		}
		if err := answers.Encode(said(answer(q))); err != nil {
			panic(err)
		}
	}
}

func said(answer any, err error) map[string]any {
	if err == nil {
		return map[string]any{"answer": answer}
	}
	failed := map[string]any{"failed": err.Error(), "kind": fmt.Sprintf("%T", err), "code": nil}
	var lacks cannot
	if errors.As(err, &lacks) {
		failed["kind"] = "cannot"
	}
	var no *refused
	if errors.As(err, &no) {
		failed["code"] = no.code
	}
	return failed
}

func (q question) servers() []string { return strings.Split(q.Bootstrap, ",") }

func (q question) isCommitted() bool { return q.Isolation == "read_committed" }

func (q question) codec() string { return q.Settings["compression.type"].(string) }

func (q question) isIdempotent() bool { return q.Settings["enable.idempotence"].(bool) }

func (q question) limit() int { return int(q.Settings["max.request.size"].(float64)) }

func (q question) acks() int16 {
	acks, err := strconv.ParseInt(q.Settings["acks"].(string), 10, 16)
	if err != nil {
		panic(err)
	}
	return int16(acks)
}

func place(topic string, partition int32) string { return fmt.Sprintf("%s-%d", topic, partition) }

func newRecord(offset int64, time time.Time, key, value []byte) record {
	return record{Offset: offset, Timestamp: time.UnixMilli(), Key: key, Value: value, Headers: []header{}}
}

func newHeader(name string, value []byte) header {
	if value == nil {
		return header{&name, nil}
	}
	text := base64.StdEncoding.EncodeToString(value)
	return header{&name, &text}
}

func (h header) value() []byte {
	if h[1] == nil {
		return nil
	}
	value, err := base64.StdEncoding.DecodeString(*h[1])
	if err != nil {
		panic(err)
	}
	return value
}
