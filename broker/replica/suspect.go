package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tidemark/internal/vfs"
	"tidemark/replication"
)

// A replica is suspect where its log is known to lack records that it once had on
// stable storage: a disk that lost them says nothing, and whoever elects takes the rest
// for all. A suspect replica is not trusted until it is known to have caught up with a
// leader: it does not lead while there are others, and where a majority elects, its vote
// does not count. Kafka has no such state.

// suspectFile lies in the directory of a suspect replica and says why. While it is
// there, each start checks the whole log.
const suspectFile = "suspect"

func isSuspect(fsys vfs.FS, logPath string) (bool, error) {
	_, err := fsys.Stat(filepath.Join(logPath, suspectFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func writeSuspect(fsys vfs.FS, logPath, why string) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(logPath, suspectFile), []byte(why+"\n"))
}

// mayNotLead reports whether the state makes a suspect replica lead that need not: others
// have the partition, and nobody decided to go on with what is left.
func (p *Partition) mayNotLead(s *State) bool {
	return p.suspect.Load() && s.Leader == p.self && len(s.Replicas) > 1 && !s.Recovering && p.promise != replication.LeaderOnly
}

// judge ends the suspicion where the state says that the replica has all that was
// acknowledged: it leads all the same, or it is in sync in its present registration,
// which is what its leader saw. mu and stepping are held.
func (p *Partition) judge(s *State) {
	switch {
	case !p.suspect.Load():
	case s.Leader == p.self:
		p.trustAgain("it leads with what is left")
	case s.Leader >= 0 && p.promise != replication.Majority:
		if i := replication.Find(s.ISR, p.self); i >= 0 && s.ISR[i].BrokerEpoch == p.manager.brokerEpoch() {
			p.trustAgain("it is in sync")
		}
	}
}

// judgeVoter ends the suspicion of a replica whose leader knows what is committed, as a
// record of its own epoch is, once the replica has all of that; stepping is held.
func (p *Partition) judgeVoter(leaderEpoch int32, highWatermark int64) {
	if !p.suspect.Load() || p.promise != replication.Majority || highWatermark > p.end.Load() {
		return
	}
	latest, ok := p.log.LatestEpoch()
	if _, start := p.log.EndOffsetForEpoch(leaderEpoch - 1); ok && latest == leaderEpoch && start < highWatermark {
		p.trustAgain("it has all that is committed")
	}
}

// trustAgain ends the suspicion; a file that cannot be removed keeps it up.
func (p *Partition) trustAgain(why string) {
	if err := p.dir.fs.Remove(filepath.Join(p.log.Dir(), suspectFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.dir.fail(fmt.Errorf("remove mark of %s: %w", p.ID(), err))
		return
	}
	p.suspect.Store(false)
	p.manager.o.Logger.Info("replica may lead again", "partition", p.ID().String(), "why", why)
}
