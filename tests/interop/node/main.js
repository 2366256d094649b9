// kafkajs, asked as the Java program is: one JSON object a line in, one a line out, bytes as base64.
'use strict'

const { randomUUID } = require('node:crypto')
const readline = require('node:readline')
const { CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')

const POLL_MS = 50
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }

class CannotError extends Error {}

class RefusedError extends Error {
  constructor (code, message) {
    super(message)
    this.code = code
  }
}

const bytes = text => text === null || text === undefined ? null : Buffer.from(text, 'base64')
const text = data => data === null || data === undefined ? null : Buffer.from(data).toString('base64')
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

function kafka (question) {
  return new Kafka({
    brokers: question.bootstrap.split(','),
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, maxRetryTime: 200, retries: 8 }
  })
}

function message (record, partition) {
  const headers = {}
  for (const [name, value] of record.headers) {
    if (value === null) throw new CannotError('does not send headers without a value')
    headers[name] = name in headers ? [headers[name], bytes(value)].flat() : bytes(value)
  }
  const { key, value, timestamp } = record
  return { key: bytes(key), value: bytes(value), timestamp: String(timestamp), partition, headers }
}

async function produce (question) {
  const { settings, topic, partition, records } = question
  const compression = CODECS[settings['compression.type']]
  if (compression === undefined) throw new CannotError('compresses with gzip alone')
  const producer = kafka(question).producer({ idempotent: settings['enable.idempotence'] })
  const messages = records.map(record => message(record, partition))
  await producer.connect()
  try {
    await producer.send({ topic, acks: Number(settings.acks), compression, messages })
  } finally {
    await producer.disconnect()
  }
}

async function consume (question) {
  const { topic, partition, start, count, isolation } = question
  const consumer = kafka(question).consumer({
    groupId: randomUUID(), readUncommitted: isolation !== 'read_committed', maxWaitTimeInMs: 50
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const seen = new Map()
  await new Promise((resolve, reject) => {
    const eachMessage = async found => {
      const each = found.message
      if (found.partition !== partition || Number(each.offset) < start) return
      seen.set(Number(each.offset), each)
      if (seen.size === count) resolve()
    }
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    consumer.run({ autoCommit: false, eachMessage }).catch(reject)
    consumer.seek({ topic, partition, offset: String(start) })
  }).finally(() => consumer.disconnect())
  return [...seen.values()].map(seenRecord)
}

function seenRecord (each) {
  const headers = Object.entries(each.headers ?? {})
    .flatMap(([name, values]) => [values].flat().map(value => [name, text(value)]))
  return {
    offset: Number(each.offset),
    timestamp: Number(each.timestamp),
    key: text(each.key),
    value: text(each.value),
    headers
  }
}

// Members of groups and transactional producers, which live from one question to the next.
const members = new Map()
const producers = new Map()
let made = 0

class Member {
  constructor (question) {
    if (question.protocol !== 'classic') throw new CannotError('has classic groups alone')
    if (question.assignor !== 'range') throw new CannotError('has no cooperative assignor')
    if (question.instance !== null) throw new CannotError('has no static members')
    this.topic = question.topic
    this.group = question.group
    this.assigned = []
    this.values = []
    this.positions = new Map()
    this.consumer = kafka(question).consumer({
      groupId: question.group, heartbeatInterval: 100, readUncommitted: false, maxWaitTimeInMs: 50
    })
    const { GROUP_JOIN, REBALANCING, CRASH } = this.consumer.events
    this.consumer.on(GROUP_JOIN, ({ payload }) => {
      this.assigned = payload.memberAssignment[this.topic] ?? []
      this.positions.clear()
    })
    this.consumer.on(REBALANCING, () => { this.assigned = [] })
    this.consumer.on(CRASH, ({ payload }) => { this.failed = payload.error })
  }

  async join () {
    await this.consumer.connect()
    await this.consumer.subscribe({ topics: [this.topic], fromBeginning: true })
    // Not awaited: it ends when the group has been joined, and another member may be needed for that.
    this.consumer.run({ autoCommit: false, eachBatch: async ({ batch }) => this.keep(batch) })
      .catch(error => { this.failed = error })
  }

  keep (batch) {
    this.values.push(...batch.messages.map(each => text(each.value)))
    this.positions.set(batch.partition, String(BigInt(batch.lastOffset()) + 1n))
  }

  async poll () {
    await sleep(POLL_MS)
    if (this.failed) throw this.failed
    const values = this.values
    this.values = []
    return { assigned: this.assigned, values }
  }

  offsets () {
    return [...this.positions].map(([partition, offset]) => ({ partition, offset }))
  }

  async commit () {
    await this.consumer.commitOffsets(this.offsets().map(each => ({ topic: this.topic, ...each })))
  }
}

async function join (question) {
  const member = new Member(question)
  await member.join()
  members.set(++made, member)
  return made
}

async function open (question) {
  const producer = kafka(question).producer({
    transactionalId: question.id, idempotent: true, maxInFlightRequests: 1
  })
  // The id is registered with the connection.
  await producer.connect()
  producers.set(++made, { producer })
  return made
}

async function sendOffsets ({ producer, member }) {
  const { group, topic } = members.get(member)
  const topics = [{ topic, partitions: members.get(member).offsets() }]
  await producers.get(producer).transaction.sendOffsets({ consumerGroupId: group, topics })
}

const LIVING = {
  member_join: join,
  member_poll: ({ member }) => members.get(member).poll(),
  member_commit: ({ member }) => members.get(member).commit(),
  member_leave: ({ member }) => members.get(member).consumer.disconnect(),
  transaction_open: open,
  session_open: async question => [await open(question), await join(question)],
  transaction_begin: async ({ producer }) => {
    const opened = producers.get(producer)
    opened.transaction = await opened.producer.transaction()
  },
  transaction_send: ({ producer, topic, records }) => producers.get(producer).transaction.send(
    { topic, messages: records.map(record => message(record, 0)) }),
  transaction_offsets: sendOffsets,
  transaction_end: ({ producer, commit }) => {
    const { transaction } = producers.get(producer)
    return commit ? transaction.commit() : transaction.abort()
  },
  transaction_close: ({ producer }) => producers.get(producer).producer.disconnect()
}

const topicResource = name => ({ type: ConfigResourceTypes.TOPIC, name })

const ADMIN = {
  create_topic: async (admin, { topic, partitions, configs }) => {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const wanted = { topic, numPartitions: partitions, configEntries }
    // It returns false for a topic that exists.
    if (!await admin.createTopics({ topics: [wanted] })) throw new RefusedError(36, `${topic} exists`)
  },
  describe_topic: async (admin, { topic }) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return { leaders: topics[0].partitions.map(each => each.leader) }
  },
  grow_topic: (admin, { topic, partitions }) =>
    admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] }),
  delete_topic: (admin, { topic }) => admin.deleteTopics({ topics: [topic] }),
  describe_configs: async (admin, { name }) => {
    const { resources } = await admin.describeConfigs({ resources: [topicResource(name)] })
    return resources[0].configEntries.map(each => ({ name: each.configName, value: each.configValue }))
  },
  set_config: (admin, { topic, name, value }) =>
    admin.alterConfigs({ resources: [{ ...topicResource(topic), configEntries: [{ name, value }] }] }),
  offset: async (admin, { topic, timestamp }) => {
    if (timestamp >= 0) {
      return Number((await admin.fetchTopicOffsetsByTimestamp(topic, timestamp))[0].offset)
    }
    const [{ high, low }] = await admin.fetchTopicOffsets(topic)
    return Number(timestamp === -1 ? high : low)
  },
  delete_records: async (admin, { topic, offset }) => {
    // It deletes nothing of a topic that it has not used yet.
    await admin.fetchTopicOffsets(topic)
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] })
    return Number((await admin.fetchTopicOffsets(topic))[0].low)
  },
  describe_cluster: async admin => {
    const { brokers, controller } = await admin.describeCluster()
    return { brokers: brokers.map(each => each.nodeId), controller }
  },
  log_dirs: () => { throw new CannotError('does not ask for log directories') },
  list_groups: async admin => (await admin.listGroups()).groups.map(each => each.groupId),
  describe_group: async (admin, { group }) => {
    const [{ state, members }] = (await admin.describeGroups([group])).groups
    return { state, members: members.length }
  },
  delete_group: (admin, { group }) => admin.deleteGroups([group]),
  group_offsets: async (admin, { group, topic }) => {
    const [{ partitions }] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
    const found = partitions.filter(each => Number(each.offset) >= 0)
    return Object.fromEntries(found.map(each => [`${topic}-${each.partition}`, Number(each.offset)]))
  },
  set_group_offset: (admin, { group, topic, offset }) => admin.setOffsets(
    { groupId: group, topic, partitions: [{ partition: 0, offset: String(offset) }] }),
  delete_group_offset: () => { throw new CannotError('does not delete offsets of a group') },
  list_transactions: () => { throw new CannotError('has no admin calls for transactions') },
  describe_transaction: () => { throw new CannotError('has no admin calls for transactions') }
}

async function answer (question) {
  if (question.ask === 'produce') return produce(question)
  if (question.ask === 'consume') return consume(question)
  if (question.ask in LIVING) return LIVING[question.ask](question)
  const admin = kafka(question).admin()
  await admin.connect()
  try {
    return await ADMIN[question.ask](admin, question)
  } finally {
    await admin.disconnect()
  }
}

// Errors are nested: retries around errors of several topics or groups around an error with a code.
function codeOf (error) {
  if (!error) return null
  if (typeof error.code === 'number') return error.code
  const inner = error.cause ?? error.originalError ?? error.errors?.[0] ?? error.groups?.[0]?.error
  return codeOf(inner)
}

async function said (question) {
  try {
    return { answer: await answer(question) ?? null }
  } catch (error) {
    const kind = error instanceof CannotError ? 'cannot' : error.constructor.name
    return { failed: error.message, kind, code: codeOf(error) }
  }
}

async function main () {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await said(JSON.parse(line)))}\n`)
  }
  process.exit(0)
}

main()
