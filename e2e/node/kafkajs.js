// Produces with every codec kafkajs carries and administers; exits 1 with a sentence on the first surprise.
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')

const [bootstrap, prefix] = process.argv.slice(2)
const RECORDS = 500

function expect(ok, surprise) {
  if (!ok) throw new Error(surprise)
}

async function main() {
  const kafka = new Kafka({ clientId: 'e2e', brokers: [bootstrap], logLevel: logLevel.ERROR })
  const admin = kafka.admin()
  await admin.connect()
  for (const [name, compression] of [['none', CompressionTypes.None], ['gzip', CompressionTypes.GZIP]]) {
    const topic = `${prefix}-${name}`
    expect(await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }], waitForLeaders: true }),
      `creating ${topic} answered that it exists`)
    await produce(kafka, topic, compression)
    const offsets = await admin.fetchTopicOffsets(topic)
    const total = offsets.reduce((sum, o) => sum + Number(o.high) - Number(o.low), 0)
    expect(total === RECORDS, `${topic} holds ${total} records, want ${RECORDS}`)
    console.log('ok', name)
  }
  await administer(admin, `${prefix}-none`)
  console.log('ok admin')
  await admin.disconnect()
}

async function produce(kafka, topic, compression) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const messages = Array.from({ length: RECORDS }, (_, i) => ({ key: `key-${i}`, value: `value-${i}`, headers: { n: `${i}` } }))
  for (let i = 0; i < RECORDS; i += 100) {
    await producer.send({ topic, acks: -1, compression, messages: messages.slice(i, i + 100) })
  }
  await producer.disconnect()
}

async function administer(admin, topic) {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  expect(topics[0].partitions.length === 2, `${topic} has ${topics[0].partitions.length} partitions, want 2`)
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topic, configEntries: [{ name: 'retention.ms', value: '123456' }] }] })
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: topic, configNames: ['retention.ms'] }] })
  expect(resources[0].configEntries[0].configValue === '123456', `retention.ms is ${JSON.stringify(resources[0].configEntries)}`)
  await admin.deleteTopics({ topics: [topic] })
  expect(!(await admin.listTopics()).includes(topic), `deleted topic ${topic} is still listed`)
}

main().catch(err => {
  console.error(err)
  process.exit(1)
})
