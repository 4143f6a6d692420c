// A member of a group: prints partition and offset of each record, then commits, until SIGTERM.
// usage: member.js BOOTSTRAP GROUP TOPIC
const { Kafka, logLevel } = require('kafkajs')

const [bootstrap, groupId, topic] = process.argv.slice(2)

async function main() {
  const kafka = new Kafka({ clientId: 'e2e', brokers: [bootstrap], logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId, sessionTimeout: 1000, heartbeatInterval: 200, rebalanceTimeout: 5000, maxWaitTimeInMs: 200 })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  process.on('SIGTERM', () => consumer.disconnect().then(() => process.exit(0)))
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, heartbeat }) => {
      for (const m of batch.messages) process.stdout.write(`${batch.partition} ${m.offset}\n`)
      const next = (BigInt(batch.lastOffset()) + 1n).toString()
      await consumer.commitOffsets([{ topic, partition: batch.partition, offset: next }])
      await heartbeat()
    }
  })
}

main().catch(err => {
  console.error(err)
  process.exit(1)
})
