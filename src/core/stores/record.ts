// The part of the store seam about shared values.

export type RecordOperation =
  | { readonly type: 'get'; readonly space: string; readonly key: string }
  | {
      readonly type: 'put'
      readonly space: string
      readonly key: string
      /** The version the record must have; 0 if it must not exist. The new version is one higher. */
      readonly version: number
      readonly body: string
      /** Unique to this write: sent again, it is applied once. */
      readonly writeId: number
    }
  /** Records of a space behind `after`, in the order of their keys (by UTF-8 bytes). */
  | {
      readonly type: 'list'
      readonly space: string
      readonly after?: string
      readonly limit: number
    }

export interface StoredRecord {
  readonly key: string
  readonly version: number
  readonly body: string
}

export type RecordOutcome =
  | { readonly type: 'get'; readonly record?: StoredRecord }
  /** `applied` also if this very write was applied before and is still the newest; else the record as it is now. */
  | { readonly type: 'put'; readonly outcome: 'applied' }
  | { readonly type: 'put'; readonly outcome: 'conflict'; readonly record?: StoredRecord }
  | { readonly type: 'list'; readonly records: readonly StoredRecord[] }
