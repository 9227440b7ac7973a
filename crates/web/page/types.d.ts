// What the interface under /api/ answers with; see docs/api.md. Only the type checker reads this file.
export type Direction = 'left' | 'right' | 'up' | 'down';
export type Shift = [from: number, to: number, exponent: number, merges: number];
export interface Outcome { board: string; reward: number; shifts: Shift[]; spawn: [cell: number, exponent: number]; over: boolean; max_tile: number }
export interface Film { size: string; spawn: string; start: string; steps: string; boards: string[]; scores: number[]; over: boolean; agent?: string; seed?: number; game?: number }
export interface GameState { size: string; rows: number; columns: number; board: string; score: number; moves: number; max_tile: number; goal: number; over: boolean; fresh: number | null; next: Record<Direction, Outcome | null>; film?: Film }
export interface GameRequest { size: string; spawn: string; seed: number; game: number; moves: string; board?: string; film?: boolean }
export interface MoveReport { legal: boolean; value: number | null; visits: number }
export interface Analysis { board: string; agent: string; unit: string; best: Direction | null; moves: Record<Direction, MoveReport>; nodes: number; depth: number; ms: number; line: { move: Direction; spawn: { cell: number; tile: number } | null }[]; table: { pattern: string; success: Record<Direction, number | null> } | null }
export interface Parameter { name: string; summary: string; type: 'integer' | 'number' | 'switch' | 'choice' | 'evaluator'; default: number | boolean | string | null; min?: number; max?: number; options?: string[] }
export interface Entry { name: string; summary: string; parameters: Parameter[]; takes_file?: boolean }
export interface Preset { name: string; spec: string; summary: string }
export interface Catalogue { version: string; sizes: string[]; default_agents: Record<string, string>; default_players: Record<string, string>; caps: Record<string, number>; agents: Entry[]; evaluators: Entry[]; presets: Preset[]; max_games: number }
export interface Frame { type: 'frame'; board: string; score: number; moves: number; max_tile: number; over: boolean; goal: boolean; best: Direction | null; values: Record<Direction, MoveReport>; depth: number; nodes: number; unit: string; rate: number; paused: boolean; heard: number; last: { move: Direction; shifts: Shift[]; spawn: [number, number] } | null }
export interface Judged { ply: number; played: number; best: number | null; values: (number | null)[] }
export interface BoardInfo { board: string; tiles: string; legal: Direction[]; over: boolean; rows: number; columns: number; largest: number }
export interface RecordInfo { id: string; origin: string; agent: string; size: string; spawn: string; seed: number }
export interface RecordGames extends RecordInfo { games: { game: number; score: number; moves: number; max_tile: number; over: boolean }[] }
export interface Spread { mean: number; ci95: [number, number] | null; sd: number; median: number; min: number; max: number }
export interface Summary { agent: string; size: string; games: number; seed: number; score: Spread; optimal?: { optimum: number; share: number; ci95: [number, number] | null }; moves: Spread; reach: Record<string, { rate: number; ci95: [number, number] }>; timing: { seconds: number; moves_per_second: number } }
export interface EvaluationEntry { id: string; agent: string; size: string; spawn: string; seed: number; standing: 'waiting' | 'running' | 'done' | 'cancelled' | 'failed'; done: number; games: number; mean_score: number; seconds_left: number | null; error: string | null; summary: Summary | null; record: string | null }
export interface Report { labels: string[]; summaries: Summary[]; comparison: { verdict: string } | null; figures: { id: string; title: string; caption: string; svg: string }[] }
export interface Checkpoint { name: string; agent: string | null }
export interface RunEntry { id: string; last: Record<string, number>; checkpoints: Checkpoint[]; seconds_ago: number | null }
export interface Run { id: string; config: string; lines: number; metrics: Record<string, (number | null)[]>; checkpoints: Checkpoint[]; seconds_ago: number | null }
export interface View { element: HTMLElement; enter(params: URLSearchParams): void; leave(): void; key?(event: KeyboardEvent): boolean }
