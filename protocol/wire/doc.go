// Package wire is the outside of the Kafka protocol: frames, request headers,
// response headers, error codes, and the Fetch response, whose records are sent
// from the log and never copied into a message.
//
// Bodies other than Fetch responses are encoded and decoded by kmsg. The package
// promises that no frame makes it allocate more than the bytes that have
// arrived would fill, give or take one step of growth, and that a response in
// steady state costs no allocation of its own. It does not decide which versions
// are served: package broker/api does.
package wire
