// Writes, copies and fences in transactions; exits 1 with a sentence on the first surprise.
// usage: txn.js BOOTSTRAP PREFIX; topics PREFIX-in and PREFIX-out have three partitions
const { Kafka, logLevel } = require('kafkajs')

const [bootstrap, prefix] = process.argv.slice(2)
const ROUNDS = 20
const RECORDS = 10
const kafka = new Kafka({ clientId: 'e2e', brokers: [bootstrap], logLevel: logLevel.NOTHING })

async function producer(id) {
  const p = kafka.producer({ transactionalId: `${prefix}-${id}`, idempotent: true, maxInFlightRequests: 1 })
  await p.connect()
  return p
}

// Every third transaction is aborted.
async function write() {
  const p = await producer('writer')
  for (let n = 0; n < ROUNDS; n++) {
    const aborted = n % 3 === 2
    const messages = Array.from({ length: RECORDS }, (_, i) => ({ partition: i % 3, value: `${aborted ? 'aborted' : 'record'} ${n}.${i}` }))
    const transaction = await p.transaction()
    await transaction.send({ topic: `${prefix}-in`, messages })
    await (aborted ? transaction.abort() : transaction.commit())
  }
  await p.disconnect()
}

// Consume, transform, produce: offsets are part of the transaction. Where one was aborted, and once after half, the
// consumer begins anew from what is committed.
async function copy() {
  const state = { copied: 0, aborts: 0, halved: false, want: RECORDS * Array.from({ length: ROUNDS }).filter((_, n) => n % 3 !== 2).length }
  const p = await producer('copier')
  while (state.copied < state.want) await consume(p, state)
  await p.disconnect()
}

async function consume(p, state) {
  const groupId = `${prefix}-copiers`
  const consumer = kafka.consumer({ groupId, sessionTimeout: 6000, maxWaitTimeInMs: 200 })
  await consumer.connect()
  await consumer.subscribe({ topics: [`${prefix}-in`], fromBeginning: true })
  let ended = false
  await new Promise((resolve, reject) => consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: 1,
    eachBatch: async ({ batch }) => {
      for (let at = 0; at < batch.messages.length && !ended; at += 7) {
        ended = await copySome(p, state, groupId, batch.partition, batch.messages.slice(at, at + 7)).catch(reject)
        if (ended) resolve()
      }
    }
  }).catch(reject))
  await consumer.disconnect()
}

// copySome is one transaction. It says whether the consumer is done.
async function copySome(p, state, consumerGroupId, partition, messages) {
  const transaction = await p.transaction()
  await transaction.send({ topic: `${prefix}-out`, messages: messages.map(m => ({ partition, value: m.value })) })
  const offset = (BigInt(messages[messages.length - 1].offset) + 1n).toString()
  await transaction.sendOffsets({ consumerGroupId, topics: [{ topic: `${prefix}-in`, partitions: [{ partition, offset }] }] })
  if (state.aborts < 3) {
    state.aborts++
    await transaction.abort()
    return true
  }
  await transaction.commit()
  state.copied += messages.length
  if (state.halved || state.copied < state.want / 2) return state.copied >= state.want
  return (state.halved = true)
}

async function fence() {
  const zombie = await (await producer('fenced')).transaction()
  await zombie.send({ topic: `${prefix}-out`, messages: [{ partition: 0, value: 'zombie' }] })
  const heir = await (await producer('fenced')).transaction()
  const committed = await zombie.commit().then(() => true, err => {
    if (!['PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH'].includes(err.type)) throw err
  })
  if (committed) throw new Error('a fenced producer committed')
  await heir.send({ topic: `${prefix}-out`, messages: [{ partition: 0, value: 'heir' }] })
  await heir.commit()
}

async function main() {
  for (const step of [write, copy, fence]) {
    await step()
    console.log('ok', step.name)
  }
  process.exit(0)
}

main().catch(err => {
  console.error(err)
  process.exit(1)
})
