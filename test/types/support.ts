/** Whether two types are the same, and not merely assignable to each other. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

export declare function same<T extends boolean>(expected: T): void

export interface Order {
  readonly id: string
  readonly cents: number
}
