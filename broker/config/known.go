package config

var unserved = map[string]string{}
var unservedTopic = map[string]string{}
