package znode

import "strconv"

// The fixed nodes of the layout; see docs/formats/zookeeper.md.
const (
	clusterIDPath       = "/cluster/id"
	brokerIDsPath       = "/brokers/ids"
	topicsPath          = "/brokers/topics"
	brokerSequencePath  = "/brokers/seqid"
	controllerPath      = "/controller"
	controllerEpochPath = "/controller_epoch"
	deleteTopicsPath    = "/admin/delete_topics"
	configChangesPath   = "/config/changes"
	configChangePrefix  = "config_change_"
	producerIDsPath     = "/latest_producer_id_block"
	reassignPath        = "/admin/reassign_partitions"
	preferredPath       = "/admin/preferred_replica_election"
	strayPath           = "/admin/stray_replicas"
	configRequestsPath  = "/admin/config_requests"
	configRequestPrefix = "request_"
	isrUpdatePath       = "/cluster/isr_update"
	isrChangePrefix     = "isr_change_"
	isrChangePath       = "/isr_change_notification"
	logDirEventPrefix   = "log_dir_event_"
	logDirEventPath     = "/log_dir_event_notification"
	consumersPath       = "/consumers"
	offsetWritersPath   = "/admin/offset_writers"
)

// layout lists the persistent nodes that a broker creates at start, parents
// first (ZkData.PersistentZkPaths).
var layout = []string{
	consumersPath,
	"/brokers", brokerIDsPath, topicsPath, brokerSequencePath,
	"/config", configChangesPath,
	"/config/topics", "/config/clients", "/config/users", "/config/brokers", "/config/ips",
	"/admin", deleteTopicsPath, strayPath, configRequestsPath,
	"/cluster",
	isrChangePath, producerIDsPath, logDirEventPath,
}

func brokerPath(id BrokerID) string { return brokerIDsPath + "/" + formatID(id) }

func topicPath(name string) string { return topicsPath + "/" + name }

func partitionsPath(topic string) string { return topicPath(topic) + "/partitions" }

func partitionPath(tp TopicPartition) string {
	return partitionsPath(tp.Topic) + "/" + formatID(tp.Partition)
}

func statePath(tp TopicPartition) string { return partitionPath(tp) + "/state" }

func configPath(entity EntityType, name string) string {
	return "/config/" + string(entity) + "/" + name
}

func deleteTopicPath(name string) string { return deleteTopicsPath + "/" + name }

func consumerPath(group string) string { return consumersPath + "/" + group }

func offsetsPath(group string) string { return consumerPath(group) + "/offsets" }

func offsetPath(group string, tp TopicPartition) string {
	return offsetsPath(group) + "/" + tp.Topic + "/" + formatID(tp.Partition)
}

func offsetWriterPath(partition int32) string { return offsetWritersPath + "/" + formatID(partition) }

func formatID(id int32) string { return strconv.FormatInt(int64(id), 10) }
