package api

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// ApiVersions (18): what is served. Version 3 added the client's name and
// version (KIP-511), 4 a feature minimum of 0. The response's header is always
// version 0, which wire sees to.

// clientInfo is Kafka's rule for client_software_name and …_version.
var clientInfo = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func apiVersions(s *Server, req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	if req.Version >= 3 && (!clientInfo.MatchString(req.ClientSoftwareName) || !clientInfo.MatchString(req.ClientSoftwareVersion)) {
		resp.ErrorCode = int16(wire.InvalidRequest)
		return resp
	}
	resp.ApiKeys = make([]kmsg.ApiVersionsResponseApiKey, 0, len(s.table))
	for i := range s.table {
		if !s.table[i].internal {
			resp.ApiKeys = append(resp.ApiKeys, advertised(&s.table[i]))
		}
	}
	if req.Version >= 3 {
		addFeatures(resp, req.Version)
	}
	return resp
}

// addFeatures says that transactions are of version 2 (KIP-890): a producer has
// another epoch for each, and its partitions join by being written to. It is in force
// from the first day and has no switch. Clients of version 3 take a minimum of 0 for an
// error (KAFKA-17011).
func addFeatures(resp *kmsg.ApiVersionsResponse, version int16) {
	supported := kmsg.NewApiVersionsResponseSupportedFeature()
	supported.Name, supported.MaxVersion = "transaction.version", txn.EpochBump
	if version < 4 {
		supported.MinVersion = 1
	}
	finalized := kmsg.NewApiVersionsResponseFinalizedFeature()
	finalized.Name, finalized.MinVersionLevel, finalized.MaxVersionLevel = supported.Name, supported.MinVersion, supported.MaxVersion
	resp.SupportedFeatures, resp.FinalizedFeatures = append(resp.SupportedFeatures, supported), append(resp.FinalizedFeatures, finalized)
	resp.FinalizedFeaturesEpoch = 0
}

func advertised(r *row) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = r.key, r.advertisedMin, r.max
	return k
}

// answerUnknownVersion answers a version that is not known, whose body cannot be
// read, in version 0 with the range that is: clients start again with that.
func answerUnknownVersion(c call) {
	c.header.Version = 0
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = int16(wire.UnsupportedVersion)
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{advertised(rowFor(wire.KeyAPIVersions))}
	c.to.Reply(wire.NewResponse(c.header, resp))
}
