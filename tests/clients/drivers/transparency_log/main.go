// Verifies a log that this project wrote, with Go's packages and those of transparency-dev, and signs notes for it.
//
//	transparency_log verify FOLDER ORIGIN LOGKEY WITNESSKEY OLDER
//	transparency_log audit URL ORIGIN LOGKEY OLDER MILESTONES
//	transparency_log sign PRIVATEKEY TEXT
//	transparency_log cosign PRIVATEKEY NOTE
//
// FOLDER has `checkpoint`, the tiles and bundles at their paths, for each older size `checkpoint.SIZE` and
// `consistency.SIZE` (hashes, 32 bytes each), and proofs `INDEX.tlog-proof`. The last argument of `verify` has the older
// sizes, joined by commas. URL is the prefix of a served log, for which `audit` verifies the same, with consistency
// proofs from OLDER sizes and proofs of MILESTONES that the server makes; a static archive makes none, so both are empty.
// Both print what they verified as one line of JSON.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/transparency-dev/formats/log"
	cosignature "github.com/transparency-dev/formats/note"
	tlogproof "github.com/transparency-dev/formats/proof"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func require(holds bool, format string, arguments ...any) {
	if !holds {
		check(fmt.Errorf(format, arguments...))
	}
}

func main() {
	arguments := os.Args[2:]
	switch os.Args[1] {
	case "verify":
		verify(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])
	case "audit":
		audit(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])
	case "sign":
		signer := must(note.NewSigner(arguments[0]))
		os.Stdout.Write(must(note.Sign(&note.Note{Text: arguments[1]}, signer)))
	case "cosign":
		signer := must(cosignature.NewSignerForCosignatureV1(arguments[0]))
		opened := must(openUnverified([]byte(arguments[1])))
		os.Stdout.Write(must(note.Sign(opened, signer)))
	}
}

// openUnverified parses a note without any key; its signatures are kept.
func openUnverified(data []byte) (*note.Note, error) {
	_, err := note.Open(data, note.VerifierList())
	if unverified, ok := err.(*note.UnverifiedNoteError); ok {
		return unverified.Note, nil
	}
	return nil, fmt.Errorf("expected a note with signatures: %v", err)
}

// storedTiles reads tiles of height 8 at the paths of tlog-tiles, which leave out the height.
type storedTiles struct{ read func(string) []byte }

func (s storedTiles) Height() int { return height }

func (s storedTiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (s storedTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range tiles {
		found = append(found, s.read(pathOf(tile)))
	}
	return found, nil
}

func pathOf(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

func verify(folder, origin, logKey, witnessKey, olderSizes string) {
	logVerifier := must(note.NewVerifier(logKey))
	witness := must(cosignature.NewVerifierForCosignatureV1(witnessKey))
	read := func(name string) []byte { return must(os.ReadFile(filepath.Join(folder, name))) }
	open := func(data []byte) (*log.Checkpoint, *note.Note) {
		checkpoint, rest, opened, err := log.ParseCheckpoint(data, origin, logVerifier, witness)
		check(err)
		require(len(rest) == 0, "the checkpoint has extensions")
		return checkpoint, opened
	}
	head, opened := open(read("checkpoint"))
	var cosigned int64
	for _, signature := range opened.Sigs {
		if signature.Name == witness.Name() {
			cosigned = must(cosignature.CoSigV1Timestamp(signature)).Unix()
		}
	}

	// All hashes come from tiles that were verified against the checkpoint.
	tree := tlog.Tree{N: int64(head.Size), Hash: tlog.Hash(head.Hash)}
	hashes := tlog.TileHashReader(tree, storedTiles{read})
	records := checkBundles(read, tree, hashes)

	consistent := 0
	for _, text := range listed(olderSizes) {
		size := must(strconv.ParseInt(text, 10, 64))
		older, _ := open(read("checkpoint." + text))
		require(int64(older.Size) == size, "expected an older checkpoint of size %d, found %d", size, older.Size)
		steps := split(read("consistency." + text))
		check(proof.VerifyConsistency(rfc6962.DefaultHasher, older.Size, head.Size, steps, older.Hash, head.Hash))
		own := must(tlog.ProveTree(tree.N, size, hashes))
		require(len(own) == len(steps), "expected %d hashes of consistency, found %d", len(own), len(steps))
		for place, step := range steps {
			require(bytes.Equal(own[place][:], step), "another consistency proof of size %d", size)
		}
		check(tlog.CheckTree(own, tree.N, tree.Hash, size, tlog.Hash(older.Hash)))
		consistent++
	}

	included := 0
	for _, name := range must(filepath.Glob(filepath.Join(folder, "*.tlog-proof"))) {
		data := must(os.ReadFile(name))
		file := parseProof(data)
		require(file.Index < head.Size, "%s has the index %d", name, file.Index)
		signed, _ := open(file.Checkpoint)
		checkProof(file, signed, records[file.Index])
		included++
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"size": head.Size, "records": len(records), "consistent": consistent, "included": included, "cosigned": cosigned,
	}))
}

func parseProof(data []byte) tlogproof.TLogProof {
	var file tlogproof.TLogProof
	check(file.Unmarshal(data))
	require(bytes.Equal(file.Marshal(), data), "a proof has another form")
	return file
}

func checkProof(file tlogproof.TLogProof, signed *log.Checkpoint, record []byte) {
	var path [][]byte
	var steps tlog.RecordProof
	for _, hash := range file.Hashes {
		path = append(path, hash[:])
		steps = append(steps, tlog.Hash(hash))
	}
	leaf := rfc6962.DefaultHasher.HashLeaf(record)
	check(proof.VerifyInclusion(rfc6962.DefaultHasher, file.Index, signed.Size, leaf, path, signed.Hash))
	index := int64(file.Index)
	check(tlog.CheckRecord(steps, int64(signed.Size), tlog.Hash(signed.Hash), index, tlog.RecordHash(record)))
}

// audit verifies a log that a server delivers.
func audit(url, origin, logKey, olderSizes, milestones string) {
	read := func(name string) []byte {
		response := must(http.Get(url + "/" + name))
		defer response.Body.Close()
		data := must(io.ReadAll(response.Body))
		require(response.StatusCode == http.StatusOK, "%s: %s %s", name, response.Status, data)
		return data
	}
	logVerifier := must(note.NewVerifier(logKey))
	head, _, _, err := log.ParseCheckpoint(read("checkpoint"), origin, logVerifier)
	check(err)
	tree := tlog.Tree{N: int64(head.Size), Hash: tlog.Hash(head.Hash)}
	hashes := tlog.TileHashReader(tree, storedTiles{read})
	records := checkBundles(read, tree, hashes)
	consistent := 0
	for _, text := range listed(olderSizes) {
		size := must(strconv.ParseInt(text, 10, 64))
		var answer struct{ Hashes [][]byte }
		check(json.Unmarshal(read("consistency?from="+text), &answer))
		older := must(tlog.TreeHash(size, hashes))
		check(proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(size), head.Size, answer.Hashes, older[:], head.Hash))
		consistent++
	}
	included := 0
	for _, milestone := range listed(milestones) {
		file := parseProof(read("proof/" + milestone))
		signed, _, _, err := log.ParseCheckpoint(file.Checkpoint, origin, logVerifier)
		check(err)
		checkProof(file, signed, records[file.Index])
		require(bytes.Equal(file.ExtraData, records[file.Index]), "the extra data of %s differ from the record", milestone)
		included++
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"size": head.Size, "records": len(records), "consistent": consistent, "included": included,
	}))
}

// listed returns the items of a list that is joined by commas.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// checkBundles returns all records; their hashes are those of the verified tree.
func checkBundles(read func(string) []byte, tree tlog.Tree, hashes tlog.HashReader) [][]byte {
	var records [][]byte
	for start := int64(0); start < tree.N; start += 1 << height {
		width := min(1<<height, tree.N-start)
		place := tlog.Tile{H: height, L: -1, N: start >> height, W: int(width)}
		data := read(pathOf(place))
		var indexes []int64
		for index := start; index < start+width; index++ {
			indexes = append(indexes, tlog.StoredHashIndex(0, index))
		}
		stored := must(hashes.ReadHashes(indexes))
		for _, hash := range stored {
			require(len(data) >= 2, "%s has too few records", pathOf(place))
			length := 2 + int(data[0])<<8 + int(data[1])
			require(len(data) >= length, "%s ends within a record", pathOf(place))
			record := data[2:length]
			require(tlog.RecordHash(record) == hash, "record %d differs from its tile", len(records))
			records = append(records, record)
			data = data[length:]
		}
		require(len(data) == 0, "%s has too many records", pathOf(place))
	}
	// Every tile of this size is there and verified, at all levels.
	for _, tile := range tlog.NewTiles(height, 0, tree.N) {
		data := read(pathOf(tile))
		require(bytes.Equal(data, must(tlog.ReadTileData(tile, hashes))), "%s has other hashes", pathOf(tile))
	}
	return records
}

func split(data []byte) [][]byte {
	var found [][]byte
	for ; len(data) > 0; data = data[tlog.HashSize:] {
		found = append(found, data[:tlog.HashSize])
	}
	return found
}
